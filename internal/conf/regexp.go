package conf

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// CompileRegexp compiles an expression of a configuration; fold ignores case. The syntax is RE2's: what PCRE has beyond
// it is refused, and help says so. As in PCRE $ is the end and also before a line end there: a client that puts %0A behind its path does
// not get past a location that ends in $.
func CompileRegexp(text string, fold bool) (re *regexp.Regexp, fault, help string) {
	source := text
	if fold {
		source = "(?i)" + text
	}
	re, err := compileDollars(source)
	if err == nil {
		return re, "", ""
	}
	reason := err.Error()
	var detail *syntax.Error
	if errors.As(err, &detail) {
		reason = detail.Code.String()
	}
	return nil, `invalid regular expression "` + text + `": ` + reason, regexpHelp(text)
}

// compileDollars compiles an expression in which $ means what it does in PCRE.
func compileDollars(source string) (*regexp.Regexp, error) {
	if !strings.Contains(source, "$") {
		return regexp.Compile(source)
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if !dollars(tree) {
		return regexp.Compile(source)
	}
	return regexp.Compile(tree.String())
}

// dollars lets each $ of an expression match before a line end at the end, too. It reports whether there is one.
func dollars(re *syntax.Regexp) (found bool) {
	for _, sub := range re.Sub {
		found = dollars(sub) || found
	}
	if re.Op != syntax.OpEndText || re.Flags&syntax.WasDollar == 0 {
		return found
	}
	end := *re
	end.Flags &^= syntax.WasDollar
	line := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\n'}}
	*re = syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{{Op: syntax.OpQuest, Sub: []*syntax.Regexp{line}}, &end}}
	return true
}

// regexpHelp names the construct of PCRE that text uses.
func regexpHelp(text string) string {
	for _, mark := range [...]string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(text, mark) {
			return "expressions are RE2: look-around such as " + mark + "…) is not available"
		}
	}
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if c := text[i]; c >= '1' && c <= '9' || c == 'k' || c == 'g' {
			return `expressions are RE2: back-references such as \` + text[i:i+1] + " are not available"
		}
	}
	for _, mark := range [...]string{"(?>", "(?|", "(?R", "(?&", "(?#", "(*", "++", "*+", "?+", "}+"} {
		if strings.Contains(text, mark) {
			return "expressions are RE2: " + mark + " of PCRE is not available"
		}
	}
	return "expressions are RE2"
}

// compileRegexp compiles an expression that stands at a place, and reports what is wrong with it.
func compileRegexp(at Pos, text string, fold bool, errs *Errors) (*regexp.Regexp, bool) {
	re, fault, help := CompileRegexp(text, fold)
	if fault != "" {
		errs.Add(at, fault, help)
		return nil, false
	}
	return re, true
}
