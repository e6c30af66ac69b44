package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/limitgate/limitgate/internal/compat"
	"github.com/limitgate/limitgate/internal/printable"
)

func newCheck() *cobra.Command {
	compatible, f := false, lintFlags{}
	cmd := &cobra.Command{
		Use:   "check FILE…",
		Short: "tell what in a configuration limits something else than is meant",
		Long: `check reads configurations as an expert would, with all they include: limits that never run, that clients get around,
or that refuse the innocent. Each finding has a rule; docs/rules and --explain tell more of it. A comment
"# limitgate-check: ignore RULE" before a line or behind it takes a finding away. Then it tells what each limit really
allows: rate, at once, the worst case in a second and in a minute, and the longest delay.
It exits with 1 on errors, with --strict on warnings too.

check --compat reads a configuration that was written for nginx and lists every directive that limitgate does not have,
with what leaving it out would change, every value it refuses, and what has no effect here. It exits with 1 if limitgate
would not start on the file.`,
		Example: `  limitgate check /etc/nginx/nginx.conf
  limitgate check --arithmetic nginx --strict /etc/nginx/nginx.conf
  limitgate check --explain no-burst
  limitgate check --json --limits /etc/nginx/nginx.conf | jq '.[] | select(.rule == "allows") | .figures'
  limitgate check --compat --json /etc/nginx/nginx.conf | jq -r '.[] | select(.verdict == "missing") | .directive'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if compatible {
				return compare(cmd, args, f.json)
			}
			return f.run(cmd.OutOrStdout(), args)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&compatible, "compat", false, "compare with what nginx has")
	fl.BoolVar(&f.json, "json", false, "write an array of {rule, severity, file, line, message, why, mend}; with --compat of {verdict, directive, file, line, message, help}")
	fl.BoolVar(&f.sarif, "sarif", false, "write SARIF 2.1.0")
	fl.BoolVar(&f.limits, "limits", false, "with --json or --sarif, also what each limit allows: entries of the rule \"allows\" with figures")
	fl.BoolVar(&f.strict, "strict", false, "exit with 1 on warnings too")
	fl.StringVar(&f.arithmetic, "arithmetic", "", "how limit_req counts, exact or nginx, whatever limit_arithmetic says")
	fl.StringVar(&f.explain, "explain", "", "tell about a rule, or list all")
	for _, name := range []string{"sarif", "limits", "strict", "arithmetic", "explain"} {
		cmd.MarkFlagsMutuallyExclusive("compat", name)
	}
	return cmd
}

// compare is check --compat.
func compare(cmd *cobra.Command, args []string, asJSON bool) error {
	if err := cobra.ExactArgs(1)(cmd, args); err != nil {
		return err
	}
	found := compat.Check(args[0], nil)
	var err error
	if asJSON {
		err = writeJSON(cmd.OutOrStdout(), found)
	} else {
		err = writeFindings(cmd.OutOrStdout(), args[0], found)
	}
	if err == nil && blocking(found) > 0 {
		err = exitCode(exitBad)
	}
	return err
}

// blocking counts what keeps limitgate from starting.
func blocking(found []compat.Finding) int {
	n := 0
	for _, f := range found {
		if f.Verdict != compat.NoEffect {
			n++
		}
	}
	return n
}

func writeJSON(w io.Writer, found []compat.Finding) error {
	if found == nil {
		found = []compat.Finding{}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(found)
}

// writeFindings writes one finding a line for people, and what it comes to.
func writeFindings(w io.Writer, file string, found []compat.Finding) error {
	count := map[compat.Verdict]int{}
	for _, f := range found {
		count[f.Verdict]++
		where := ""
		if f.File != "" {
			where = fmt.Sprintf("%s:%d: ", printable.Text(f.File), f.Line)
		}
		text := f.Message
		if f.Directive != "" {
			text = f.Directive + ": " + text
		}
		if _, err := fmt.Fprintf(w, "%s%s: %s\n", where, f.Verdict, printable.Text(text)); err != nil {
			return err
		}
		if f.Help != "" {
			if _, err := fmt.Fprintf(w, "  help: %s\n", printable.Text(f.Help)); err != nil {
				return err
			}
		}
	}
	verdict := "limitgate runs this file"
	if blocking(found) > 0 {
		verdict = "limitgate does not start on this file"
	}
	_, err := fmt.Fprintf(w, "%s: %d missing, %d unknown, %d faults, %d without effect: %s\n", printable.Text(file),
		count[compat.Missing], count[compat.Unknown], count[compat.Fault], count[compat.NoEffect], verdict)
	return err
}
