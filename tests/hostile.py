"""A page that tries to run scripts, load resources, hide text and break out of its container."""

__all__ = ["HOSTILE"]

HOSTILE = """<title>Hostile</title><meta http-equiv=refresh content="0;url=http://elsewhere.invalid/">
<script>window.HACKED = 1</script><base href=http://elsewhere.invalid/>
<style>p { display: none } body { position: fixed } #x { background: url(http://elsewhere.invalid/x.png) }</style>
<link rel=stylesheet href=http://elsewhere.invalid/a.css><body onload="HACKED = 2">
<p id=undo class=selected onclick="HACKED = 3" style="display:none;position:fixed">Hidden text that stays readable</p>
<img src=http://elsewhere.invalid/i.png onerror="HACKED = 4" alt="a picture&quot; onerror=&quot;HACKED = 4">
<svg><script>HACKED = 5</script><animate onbegin="HACKED = 6" attributeName=x dur=1s /><text>Text of a drawing</text>
</svg>
<math><mtext><img src=x onerror="HACKED = 7"></mtext></math><iframe src="javascript:parent.HACKED = 8"></iframe>
<a href="javascript:HACKED = 9">A link of the hostile page</a><form action=http://elsewhere.invalid/><button>Send</button>
</form><details><summary>More</summary>Inside of details</details><dialog>Inside of a dialog</dialog>
<p>&lt;script&gt;HACKED = 10&lt;/script&gt; &lt;img src=x onerror="HACKED = 11"&gt; as text</p>
<noscript><p title="</noscript><img src=x onerror='HACKED = 12'>">Text without scripts</p></noscript>
<textarea></textarea><img src=x onerror="HACKED = 13"></textarea><object data=http://elsewhere.invalid/o></object>
<video src=http://elsewhere.invalid/v autoplay onplay="HACKED = 14"></video>
<span data-block=0>Claims another block</span>
<p data-label=main dir="rtl&quot; onclick=&quot;HACKED = 15">A last paragraph with enough words to be seen</p>
"""
