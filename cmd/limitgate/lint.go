package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/limitgate/limitgate/internal/lint"
)

// lintFlags are the flags of check without --compat.
type lintFlags struct {
	json, sarif, strict, limits bool
	arithmetic                  string
	explain                     string
}

// validate says what can't go together.
func (f *lintFlags) validate(files []string) error {
	switch {
	case f.arithmetic != "" && f.arithmetic != "exact" && f.arithmetic != "nginx":
		return fmt.Errorf("--arithmetic %q: it is exact or nginx", f.arithmetic)
	case f.json && f.sarif:
		return errors.New("--json and --sarif are two forms of one output: choose one")
	case f.limits && !f.json && !f.sarif:
		return errors.New("--limits is for --json and --sarif: the text tells what limits allow without it")
	case f.explain != "" && len(files) > 0:
		return errors.New("--explain takes the name of a rule and no file")
	case f.explain == "" && len(files) == 0:
		return errors.New("check needs a file")
	}
	return nil
}

// run checks the files and writes what is to say about them.
func (f *lintFlags) run(w io.Writer, files []string) error {
	if err := f.validate(files); err != nil {
		return err
	}
	if f.explain != "" {
		return explain(w, f.explain)
	}
	var reports []lint.Report
	bad := false
	for _, file := range files {
		r := lint.Check(lint.Options{Path: file, Arithmetic: f.arithmetic})
		reports = append(reports, r)
		bad = bad || r.Count(lint.Error) > 0 || f.strict && r.Count(lint.Warning) > 0
	}
	if err := f.write(w, reports); err != nil {
		return err
	}
	if bad {
		return exitCode(exitBad)
	}
	return nil
}

func (f *lintFlags) write(w io.Writer, reports []lint.Report) error {
	switch {
	case f.json:
		return lint.WriteJSON(w, reports, f.limits)
	case f.sarif:
		return lint.WriteSARIF(w, version, reports, f.limits)
	}
	for i, r := range reports {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := lint.WriteText(w, r); err != nil {
			return err
		}
	}
	return nil
}

// explain tells of one rule, or lists all.
func explain(w io.Writer, id string) error {
	text := lint.List()
	if id != "all" {
		r, found := lint.Lookup(id)
		if !found {
			return fmt.Errorf("there is no rule %q; --explain all lists them", id)
		}
		text = r.Explain()
	}
	_, err := io.WriteString(w, text)
	return err
}
