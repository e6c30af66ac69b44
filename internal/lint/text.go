package lint

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/limitgate/limitgate/internal/printable"
)

// Count counts findings of a severity.
func (r Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// WriteText writes a report for people: what was found, what each limit really allows, and what it comes to.
func WriteText(w io.Writer, r Report) error {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s:%d: %s: %s [%s]\n  why: %s\n  mend: %s\n", printable.Text(f.File), f.Line, f.Severity, printable.Text(f.Message), f.Rule, f.Why, f.Mend)
	}
	if len(r.Limits) > 0 {
		if len(r.Findings) > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("What each limit allows a key:\n")
	}
	for _, a := range r.Limits {
		fmt.Fprintf(&b, "%s:%d: %s: %s\n", printable.Text(a.File), a.Line, printable.Text(a.Limit), printable.Text(a.Text))
	}
	fmt.Fprintf(&b, "%s: %s, %s, %d info", printable.Text(r.Path), number(r.Count(Error), "error"), number(r.Count(Warning), "warning"), r.Count(Info))
	if r.Suppressed > 0 {
		fmt.Fprintf(&b, ", %d suppressed", r.Suppressed)
	}
	if r.Part != "" {
		fmt.Fprintf(&b, "; read as a part of %s", r.Part)
	}
	if r.Lacks > 0 {
		fmt.Fprintf(&b, "; %s not looked at, see check --compat", number(r.Lacks, "directive"))
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func number(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// allows is what an allowance is called where findings are listed. It finds nothing, and so is no rule of the table.
func allows() Rule {
	return Rule{ID: "allows", Severity: Info, Title: "what a limit really allows",
		Why:  "What a client can do follows from rate, burst and delay together, and none of them tells it alone.",
		Mend: "Nothing, if it is what is meant."}
}

// allowed is an allowance among findings.
type allowed struct {
	Finding
	Figures Figures `json:"figures"`
}

// WriteJSON writes the findings of all reports as one array, with limits also what each limit allows.
func WriteJSON(w io.Writer, reports []Report, limits bool) error {
	all := []any{}
	for _, r := range reports {
		for _, f := range r.Findings {
			all = append(all, f)
		}
		for _, a := range r.Limits {
			if limits {
				all = append(all, allowed{a.finding(), a.Figures})
			}
		}
	}
	return encode(w, all)
}

// finding is an allowance as a finding.
func (a Allowance) finding() Finding {
	r := allows()
	return Finding{r.ID, r.Severity, a.File, a.Line, a.Limit + ": " + a.Text, r.Why, r.Mend}
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
