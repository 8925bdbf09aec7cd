"""Small DAX files for tests."""

from __future__ import annotations

WORKFLOW = """<?xml version="1.0" encoding="UTF-8"?>
<!-- generated -->
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" count="1" index="0" name="diamond" jobCount="4">
  <job id="ID0" namespace="D" name="split" version="1.0" runtime="13.5">
    <uses file="in.txt" link="input" register="true" size="100"/>
    <uses file="a.txt" link="output" size="1000"/>
    <uses file="log.txt" link="output"/>
  </job>
  <job id="ID1" name="work" runtime="2"><argument>-i <filename file="a.txt"/></argument>
    <uses file="a.txt" link="input" size="1000"/>
    <uses file="b.txt" link="output" size="200"/></job>
  <job id="ID2" name="work" runtime="4">
    <uses file="a.txt" link="input" size="1000"/>
    <uses file="c.txt" link="output" size="300"/></job>
  <job id="ID3" name="join">
    <uses file="b.txt" link="input" size="200"/>
    <uses file="c.txt" link="input" size="300"/>
  </job>
  <child ref="ID1"><parent ref="ID0"/></child>
  <child ref="ID2"><parent ref="ID0"/></child>
  <child ref="ID3"><parent ref="ID1"/><parent ref="ID2"/><parent ref="ID0"/></child>
</adag>
"""

VERSION_3 = """<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="3.6" name="three">
  <file name="f.in"><pfn url="file:///etc/passwd" site="local"/></file>
  <job id="A" name="first"><profile namespace="pegasus" key="runtime">1.25</profile>
    <uses name="f.in" link="input"/><uses name="f.x" link="output" size="8"/></job>
  <dag id="B" name="inner"><profile namespace="globus" key="runtime">99</profile><uses name="f.x" link="input"/></dag>
</adag>
"""


def seeds() -> list[bytes]:
    """A workflow of version 2 and one of version 3."""
    return [WORKFLOW.encode(), VERSION_3.encode()]
