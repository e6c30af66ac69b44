package lint

import (
	"fmt"
	"strings"
)

// Explain writes one rule for a terminal.
func (r Rule) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s\n\nWhy: %s\n\nMend: %s\n", r.ID, r.Severity, r.Title, r.Why, r.Mend)
	if r.Example != "" {
		b.WriteString("\n" + indent(r.Example))
	}
	return b.String()
}

// List writes one line for each rule.
func List() string {
	var b strings.Builder
	for _, r := range Rules() {
		fmt.Fprintf(&b, "%-24s %-8s %s\n", r.ID, r.Severity, r.Title)
	}
	return b.String()
}

// Page returns docs/rules/ID.md. bad is a configuration that has the fault; lines that have it end in a comment.
func (r Rule) Page(bad string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nGenerated from the table in internal/lint with `go generate ./internal/lint`; do not edit.\n\n", r.ID)
	fmt.Fprintf(&b, "%s: %s.\n\n**Why.** %s\n\n**Mend.** %s\n", strings.ToUpper(string(r.Severity[:1]))+string(r.Severity[1:]), r.Title, r.Why, r.Mend)
	if r.Example != "" {
		b.WriteString("\n" + indent(r.Example))
	}
	fmt.Fprintf(&b, "\n**Found in**, at the lines with an arrow:\n\n%s\nTo keep such a line, write `# limitgate-check: ignore %s` before or behind it.\n", indent(bad), r.ID)
	return b.String()
}

// Index returns docs/rules/README.md.
func Index() string {
	var b strings.Builder
	b.WriteString("# The rules of limitgate check\n\nGenerated from the table in internal/lint with `go generate ./internal/lint`; do not edit.\n\n" +
		"How to use them is told in [check.md](../check.md).\n\n| rule | severity | finds |\n|---|---|---|\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", r.ID, r.ID, r.Severity, r.Title)
	}
	return b.String()
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("    ")
		}
		b.WriteString(strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
