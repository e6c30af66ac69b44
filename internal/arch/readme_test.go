package arch

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// skeleton is what a translation must not change: the levels of headings, all code that stands apart, and where links go.
func skeleton(t *testing.T, name string) (headings, code, links []string) {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	fenced := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
			code = append(code, line)
		case fenced, strings.HasPrefix(line, "    "):
			code = append(code, line)
		case strings.HasPrefix(line, "#"):
			level, _, _ := strings.Cut(line, " ")
			headings = append(headings, level)
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(string(text), -1) {
		if !strings.HasPrefix(m[1], "README") && !strings.HasPrefix(m[1], "#") { // to the other language, or to a heading in this one
			links = append(links, m[1])
		}
	}
	slices.Sort(links)
	return headings, code, slices.Compact(links)
}

// sections are the numbers of the headings that a page links to in itself, in the order of the links.
func sections(t *testing.T, name string) (numbers []int) {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	var anchors []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		anchors = append(anchors, strings.ReplaceAll(strings.ToLower(m[1]), " ", "-"))
	}
	for _, m := range regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(string(text), -1) {
		n := slices.Index(anchors, m[1])
		if n < 0 {
			t.Errorf("%s links to #%s, which is no heading of it", name, m[1])
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// The README in Chinese says what the one in English says: the same sections, the same commands, the same pages to go on with.
func TestReadmesAgree(t *testing.T) {
	headings, code, links := skeleton(t, "README.md")
	inChinese, itsCode, itsLinks := skeleton(t, "README.zh-CN.md")
	for _, c := range []struct {
		what      string
		got, want []string
	}{{"headings", inChinese, headings}, {"code", itsCode, code}, {"links", itsLinks, links}} {
		if len(c.want) < 10 {
			t.Errorf("%s: README.md has only %d", c.what, len(c.want))
		}
		if slices.Equal(c.got, c.want) {
			continue
		}
		for _, w := range c.want {
			if !slices.Contains(c.got, w) {
				t.Errorf("%s: README.zh-CN.md lacks %q", c.what, w)
			}
		}
		for _, g := range c.got {
			if !slices.Contains(c.want, g) {
				t.Errorf("%s: only README.zh-CN.md has %q", c.what, g)
			}
		}
		t.Errorf("%s: %d in README.zh-CN.md, %d in README.md", c.what, len(c.got), len(c.want))
	}
	if en, zh := sections(t, "README.md"), sections(t, "README.zh-CN.md"); !slices.Equal(en, zh) {
		t.Errorf("the sections that README.md links to are %v, those of README.zh-CN.md %v", en, zh)
	}
	for name, other := range map[string]string{"README.md": "(README.zh-CN.md)", "README.zh-CN.md": "(README.md)"} {
		text, err := os.ReadFile("../../" + name)
		if head, _, _ := strings.Cut(string(text), "\n## "); err != nil || !strings.Contains(head, other) {
			t.Errorf("%s does not begin with a link to %s", name, other)
		}
	}
}
