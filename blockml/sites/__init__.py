"""What pages of one site share, used by extractors.

``predict --by-site`` and ``--template`` use :mod:`~blockml.sites.at_site`, which adds a template of the site
(:mod:`blockml.templates.site`) to the scores of any extractor. :mod:`~blockml.sites.template_methods` has the published
extractors that learn from other pages of a site, for comparisons. :mod:`~blockml.sites.fitting` groups labelled pages
by site, and fits extractors to the other pages of a group.
"""
