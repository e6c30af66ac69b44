package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/limitgate/limitgate/internal/compat"
	"github.com/spf13/cobra"
)

func newCheck() *cobra.Command {
	compatible, asJSON := false, false
	cmd := &cobra.Command{
		Use:   "check --compat FILE",
		Short: "tell what of an nginx configuration limitgate does not have",
		Long: `check --compat reads a configuration that was written for nginx, with all it includes, and lists every directive that
limitgate does not have, with what leaving it out would change, every value it refuses, and what has no effect here.
It exits with 1 if limitgate would not start on the file.`,
		Example: `  limitgate check --compat /etc/nginx/nginx.conf
  limitgate check --compat --json /etc/nginx/nginx.conf | jq -r '.[] | select(.verdict == "missing") | .directive'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !compatible {
				return errors.New("check needs --compat; limitgate -t -c FILE tells whether a file can be run")
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
		},
	}
	cmd.Flags().BoolVar(&compatible, "compat", false, "compare with what nginx has")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write an array of {verdict, directive, file, line, message, help}")
	return cmd
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
			where = fmt.Sprintf("%s:%d: ", f.File, f.Line)
		}
		text := f.Message
		if f.Directive != "" {
			text = f.Directive + ": " + text
		}
		if _, err := fmt.Fprintf(w, "%s%s: %s\n", where, f.Verdict, text); err != nil {
			return err
		}
		if f.Help != "" {
			if _, err := fmt.Fprintf(w, "  help: %s\n", f.Help); err != nil {
				return err
			}
		}
	}
	verdict := "limitgate runs this file"
	if blocking(found) > 0 {
		verdict = "limitgate does not start on this file"
	}
	_, err := fmt.Fprintf(w, "%s: %d missing, %d unknown, %d faults, %d without effect: %s\n", file,
		count[compat.Missing], count[compat.Unknown], count[compat.Fault], count[compat.NoEffect], verdict)
	return err
}
