package conf

import (
	"fmt"
	"strings"
)

// Reference returns docs/directives.md: the table as text.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Directives\n\nGenerated from the table in internal/conf with `go generate ./internal/conf`; do not edit.\n\n" +
		"Sizes are bytes, or have k or m (and g where files and bodies are meant). Times are seconds, or a sum such as `1h 30m`,\n" +
		"`10s`, `250ms`. A scope inherits what the one around it says, unless an entry says otherwise.\n")
	for _, g := range Groups() {
		b.WriteString("\n## " + g.Title + "\n\n")
		if g.Intro != "" {
			b.WriteString(g.Intro + "\n\n")
		}
		if len(g.Specs) > 0 && g.Specs[0].Status != Here {
			listGroup(&b, g.Specs)
			continue
		}
		for _, s := range g.Specs {
			entryOf(&b, s)
		}
	}
	return b.String()
}

// entryOf writes one directive.
func entryOf(b *strings.Builder, s Spec) {
	fmt.Fprintf(b, "### %s\n\n    %s\n\n", s.Name, s.Form())
	facts := []string{"In: " + s.Contexts.String()}
	if s.Contexts == everywhere {
		facts[0] = "In: every block"
	}
	if s.Beyond {
		facts = append(facts, "not in nginx")
	}
	if s.Default != "" {
		facts = append(facts, "default: `"+s.Default+"`")
	}
	if s.Repeat {
		facts = append(facts, "may be repeated")
	}
	switch s.Merge {
	case Own:
		facts = append(facts, "not inherited")
	case Handler:
		facts = append(facts, "not inherited by locations inside")
	}
	doc := s.Doc
	if s.Status == Accepted {
		doc = "Accepted without effect: " + doc + "."
	}
	fmt.Fprintf(b, "%s.\n\n%s\n\n", strings.Join(facts, "; "), doc)
}

// listGroup writes a chapter of directives that share few reasons: one line a reason.
func listGroup(b *strings.Builder, specs []Spec) {
	for i := 0; i < len(specs); {
		reason := specs[i].Doc
		var names []string
		for ; i < len(specs) && specs[i].Doc == reason; i++ {
			names = append(names, "`"+specs[i].Name+"`")
		}
		fmt.Fprintf(b, "- %s: %s\n", strings.ToUpper(reason[:1])+reason[1:], strings.Join(names, " "))
	}
}
