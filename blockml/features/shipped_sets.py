"""Feature sets of the released models and recipes, with every column written down.

A column that a family gains is in none of these sets, so no released model changes. To use it in a model, add a set
with a new name and train on that one. Names of columns are explained in :mod:`blockml.features.feature_sets`.
"""

from __future__ import annotations

#: The parent tag as a code, or as a 0/1 column for each of these values.
_CODE = ("",)
_ONE_HOT = tuple(
    f"={tag}"
    for tag in "a b blockquote br dd dl dt font h1 h2 h3 h4 h5 h6 img li ol p pre q table ul other none".split()
)


def _kim2013(density: str, parents: tuple[str, ...]) -> str:
    """Write the paper's attributes of a block and two neighbours on each side, with a column of word density."""
    return " ".join(
        f"{density}_{where} ld_{where} {' '.join(f'parent_{where}{value}' for value in parents)} distprev_{where} "
        f"distnext_{where}"
        for where in ("m2", "m1", "0", "p1", "p2")
    )


#: Name, version, source and columns of each set, as fields of :class:`~blockml.features.feature_sets.FeatureSet`.
SHIPPED_SETS: tuple[tuple[str, int, str, str], ...] = (
    ("kim2013", 1, "Kim et al. 2013, section 3.3", _kim2013("wd", _CODE)),
    ("kim2013-onehot", 1, "Kim et al. 2013, section 3.3, parent tags one-hot encoded", _kim2013("wd", _ONE_HOT)),
    ("kim2013-80w", 1, "Kim et al. 2013, section 3.3, word density read literally", _kim2013("wd80w", _CODE)),
    (
        "kim2013-80w-onehot",
        1,
        "Kim et al. 2013, section 3.3, word density read literally, one-hot",
        _kim2013("wd80w", _ONE_HOT),
    ),
    ("kim2013-sentence", 1, "Kim et al. 2013, section 3.3, word density per sentence", _kim2013("wdsent", _CODE)),
    (
        "kim2013-sentence-onehot",
        1,
        "Kim et al. 2013, section 3.3, word density per sentence, one-hot",
        _kim2013("wdsent", _ONE_HOT),
    ),
    (
        "boilerpipe6",
        1,
        "Kim et al. 2013, section 2.2: boilerpipe's six attributes",
        "wd_m1 ld_m1 wd_0 ld_0 wd_p1 ld_p1",
    ),
    (
        "kim2013-site",
        1,
        "Kim et al. 2013, section 3.3, parent tags one-hot encoded; and columns from other pages of the site",
        _kim2013("wd", _ONE_HOT)
        + " sitepages_0 sitetext_0 siteblock_0 siteentropy_0 sitetree_0 siteibdf_0 sitepath_0 sitenovel_0 sitewords_0"
        + " sitelinks_0",
    ),
    (
        "page",
        2,
        "text, kim2013, tree, vocabulary, repetition and metadata of a whole page",
        """
        words_0 chars_0 wordlen_0 linkedwords_0 linkshare_0 freewords_0 digits_0 capitals_0 ideographs_0 sentences_0
        clauses_0 signs_0 clauserate_0 endssentence_0 endsclause_0 startscapital_0 startsdigit_0 startssign_0
        prose_0
        place_0 index_0 fromend_0 wordplace_0 wordsbefore_0 wordsafter_0 proseplace_0 heading_0 sinceh1_0
        wordssinceh1_0 fromfirsth1_0 sinceheading_0 wordssinceheading_0 lastheading_0 untilheading_0 sinceprose_0
        untilprose_0
        words1around_0 words2around_0 words4around_0 words8around_0 words16around_0 links1around_0 links2around_0
        links4around_0 links8around_0 links16around_0 blurredwords_0 blurredlinks_0
        tag0_0 tag1_0 tag2_0 tag3_0 depth_0 top_0 toli_0 tolist_0 totable_0 tocell_0 todl_0 tohead_0 tonav_0
        tofooter_0 toheader_0 toaside_0 tomain_0 toarticle_0 tosection_0 toform_0 tofigure_0 toquote_0 topre_0
        toanchor_0 tocontrol_0 todetails_0 todiv_0 toemphasis_0 hidden_0 noscript_0 preformatted_0
        words0up_0 share0up_0 links0up_0 prose0up_0 inp0up_0 blocks0up_0 density0up_0 sentences0up_0 words1up_0
        share1up_0 links1up_0 prose1up_0 inp1up_0 blocks1up_0 density1up_0 sentences1up_0 words2up_0 share2up_0
        links2up_0 prose2up_0 inp2up_0 blocks2up_0 density2up_0 sentences2up_0 words3up_0 share3up_0 links3up_0
        prose3up_0 inp3up_0 blocks3up_0 density3up_0 sentences3up_0 words4up_0 share4up_0 links4up_0 prose4up_0
        inp4up_0 blocks4up_0 density4up_0 sentences4up_0 words6up_0 share6up_0 links6up_0 prose6up_0 inp6up_0
        blocks6up_0 density6up_0 sentences6up_0
        outofhalf_0 belowhalf_0 offhalf_0 sharehalf_0 prosehalf_0 outofmost_0 belowmost_0 offmost_0 sharemost_0
        prosemost_0 outofclean_0 belowclean_0 offclean_0 shareclean_0 proseclean_0 outofcleanall_0 belowcleanall_0
        offcleanall_0 sharecleanall_0 prosecleanall_0 outofscored_0 belowscored_0 offscored_0 sharescored_0
        prosescored_0 outofmain_0 belowmain_0 offmain_0 sharemain_0 prosemain_0 scoreup_0 scoreparent_0
        outofall_0 belowall_0 offall_0 shareall_0 proseall_0 outoftitled_0 belowtitled_0 offtitled_0 sharetitled_0
        prosetitled_0 outofarticle_0 belowarticle_0 offarticle_0 sharearticle_0 prosearticle_0
        clscontent_0 clsarticle_0 clspost_0 clsbody_0 clsmainpart_0 clscomment_0 clsside_0 clsnavigation_0
        clspages_0 clsfoot_0 clstop_0 clsrelated_0 clspopular_0 clsshare_0 clsadvert_0 clsbyline_0 clstags_0
        clsconsent_0 clsoverlay_0 clssubscribe_0 clsproduct_0 clsprice_0 clsdescribe_0 clsreview_0 clscard_0
        clslist_0 clstitle_0 clsunseen_0 clspicture_0 clsquestion_0 clsthread_0 clsuser_0 clssearch_0 clscode_0
        clsoutline_0 clshero_0 clsbio_0 clstable_0 rolemain_0 rolenav_0 roleextra_0 propbody_0 prophead_0 proppart_0
        sizepath_0 sharepath_0 densitypath_0 linkspath_0 prosepath_0 tightpath_0
        sizenear_0 sharenear_0 densitynear_0 linksnear_0 prosenear_0 tightnear_0 sizefar_0 sharefar_0 densityfar_0
        linksfar_0 prosefar_0 tightfar_0
        alike0up_0 wordsalike0up_0 linksalike0up_0 alike1up_0 wordsalike1up_0 linksalike1up_0 alike2up_0
        wordsalike2up_0 linksalike2up_0 alike3up_0 wordsalike3up_0 linksalike3up_0
        intitle_0 oftitle_0 indescription_0 sincetitle_0
        pagewords_0 pageblocks_0 pagelinks_0 pageprose_0 pageprosewords_0 pageinp_0 pageinli_0 pageintd_0 pagehead_0
        pagetop_0 pagetop5_0 pagearticles_0 pagemains_0 pageimages_0 pageforms_0 pageinputs_0 pageh1_0 pageh2_0
        pagepars_0 pagescripts_0 pagedepth_0 isarticle_0 isproduct_0 isdiscussion_0 islisting_0 ismanual_0 isfirm_0
        iswebsite_0 urlparts_0 urldashes_0 urldigits_0 urlforum_0 urlshop_0 urlshelf_0 urlnews_0 urldocs_0
        linkshare_m1
        tag0_m1
        endssentence_m1
        linkshare_p1
        tag0_p1
        endssentence_p1
        """,
    ),
    (
        "votes",
        1,
        "Wolpert 1992: stacking; scores of ten extractors",
        """
        voteaccb_m1 votetccb_m1 votedsc_m1 votebte_m1 votelqf_m1 votecrunch_m1 votenumwords_m1 votedensity_m1
        votecetrtm_m1 votefe_m1 wd_m1 ld_m1
        voteaccb_0 votetccb_0 votedsc_0 votebte_0 votelqf_0 votecrunch_0 votenumwords_0 votedensity_0 votecetrtm_0
        votefe_0 wd_0 ld_0
        voteaccb_p1 votetccb_p1 votedsc_p1 votebte_p1 votelqf_p1 votecrunch_p1 votenumwords_p1 votedensity_p1
        votecetrtm_p1 votefe_p1 wd_p1 ld_p1
        """,
    ),
)
