package conf

import (
	"regexp"
	"strings"
)

// Rewrite is a rewrite directive.
type Rewrite struct {
	Regexp      *regexp.Regexp
	Pattern     string
	Replacement Word // without the "?" at its end; may hold variables
	DropArgs    bool // there was one: the request's own arguments are left out
	Status      int  // 301 or 302: the client is sent there; 0: the request goes on inside
	Last        bool // no directive behind it is looked at
	Break       bool // and the request stays in its location
}

// ReadRewrite reads a rewrite directive.
func ReadRewrite(d *Directive, errs *Errors) (Rewrite, bool) {
	w := Rewrite{Pattern: d.Arg(0), Replacement: d.Args[1]}
	if w.Replacement.Text == "" {
		errs.Add(d.At(1), "empty replacement", "write a path or an address")
		return w, false
	}
	re, ok := compileRegexp(d.At(0), w.Pattern, false, errs)
	if !ok {
		return w, false
	}
	w.Regexp = re
	w.Replacement.Text, w.DropArgs = strings.CutSuffix(w.Replacement.Text, "?")
	for _, start := range [...]string{"http://", "https://", "$scheme"} {
		if strings.HasPrefix(w.Replacement.Text, start) {
			w.Status, w.Last = 302, true
		}
	}
	if len(d.Args) < 3 {
		return w, true
	}
	switch d.Arg(2) {
	case "last":
	case "break":
		w.Break = true
	case "redirect":
		w.Status = 302
	case "permanent":
		w.Status = 301
	default:
		badParameter(d, d.Args[2], errs)
		return w, false
	}
	w.Last = true
	return w, true
}

// Test is what an if asks.
type Test uint8

// The tests of an if; each may be negated.
const (
	Holds      Test = iota // a variable has a value that is neither empty nor 0
	Equals                 // =
	Matches                // ~
	IsFile                 // -f
	IsFolder               // -d
	Exists                 // -e
	Executable             // -x
)

// Condition is what an if asks.
type Condition struct {
	Test     Test
	Not      bool
	Variable Word           // its name without the dollar sign; not for tests of files
	Value    Word           // what it is compared with, or the name of the file; may hold variables
	Regexp   *regexp.Regexp // of Matches
}

// ReadCondition reads the condition of an if.
func ReadCondition(d *Directive, errs *Errors) (Condition, bool) {
	words, bad := condition(d)
	if bad != nil {
		return badCondition(*bad, errs)
	}
	first := words[0]
	if len(first.Text) > 1 && first.Text[0] == '$' {
		return compare(words, errs)
	}
	mark, not := strings.CutPrefix(first.Text, "!")
	test, known := fileTest(mark)
	if len(words) != 2 || !known {
		return badCondition(first, errs)
	}
	return Condition{Test: test, Not: not, Value: words[1]}, true
}

// condition returns the words between the brackets, which may stand apart from them; or the word that is wrong.
func condition(d *Directive) (words []Word, bad *Word) {
	words = append(words, d.Args...)
	first, last := &words[0], &words[len(words)-1]
	switch text, open := strings.CutPrefix(first.Text, "("); {
	case !open:
		return nil, first
	case text != "":
		first.Text = text
	default:
		words = words[1:]
	}
	text, closed := strings.CutSuffix(last.Text, ")")
	switch {
	case !closed:
		return nil, last
	case len(words) == 1 && text == "":
		return nil, last
	case text == "":
		return words[:len(words)-1], nil
	}
	last.Text = text
	return words, nil
}

// compare reads the test of a variable.
func compare(words []Word, errs *Errors) (Condition, bool) {
	c := Condition{Variable: words[0]}
	c.Variable.Text = c.Variable.Text[1:]
	switch len(words) {
	case 1:
		return c, true
	case 3:
	default:
		return badCondition(words[0], errs)
	}
	operator, not := strings.CutPrefix(words[1].Text, "!")
	c.Not, c.Value = not, words[2]
	switch operator {
	case "=":
		c.Test = Equals
		return c, true
	case "~", "~*":
		c.Test = Matches
		re, ok := compileRegexp(c.Value.Pos, c.Value.Text, operator == "~*", errs)
		c.Regexp = re
		return c, ok
	}
	errs.Add(words[1].Pos, `unexpected "`+words[1].Text+`" in condition`, "variables are compared with =, !=, ~, !~, ~* or !~*")
	return c, false
}

func fileTest(mark string) (test Test, known bool) {
	switch mark {
	case "-f":
		return IsFile, true
	case "-d":
		return IsFolder, true
	case "-e":
		return Exists, true
	case "-x":
		return Executable, true
	}
	return 0, false
}

func badCondition(w Word, errs *Errors) (Condition, bool) {
	errs.Add(w.Pos, `invalid condition "`+w.Text+`"`, "write if ($VARIABLE), if ($VARIABLE = TEXT) or if (-f FILE), with blanks around the operator")
	return Condition{}, false
}

// TryFiles is a try_files directive.
type TryFiles struct {
	Files    []TryFile
	Fallback Word // a path with arguments, or @name, where no file is found; may hold variables
	Code     int  // "=CODE" in its place; 0: none
}

// TryFile is a file to look for.
type TryFile struct {
	Name   Word // may hold variables
	Folder bool // it was written with a slash at its end
}

// ReadTryFiles reads a try_files directive.
func ReadTryFiles(d *Directive, errs *Errors) (TryFiles, bool) {
	var t TryFiles
	last := len(d.Args) - 1
	for _, w := range d.Args[:last] {
		f := TryFile{Name: w}
		f.Name.Text, f.Folder = strings.CutSuffix(w.Text, "/")
		t.Files = append(t.Files, f)
	}
	t.Fallback = d.Args[last]
	text, isCode := strings.CutPrefix(t.Fallback.Text, "=")
	if !isCode {
		return t, true
	}
	code, ok := ParseInt(text)
	if !ok || code > 999 {
		errs.Add(t.Fallback.Pos, `invalid code "`+t.Fallback.Text+`"`, "a status up to 999 is expected behind the equals sign")
		return t, false
	}
	t.Code = int(code)
	return t, true
}
