package vars

import (
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/request"
)

// Template is text with $variables in it: nginx's complex value. It is immutable and serves many goroutines.
type Template struct {
	text  string
	parts []part
}

// part is a piece of a template: literal text, or a variable.
type part struct {
	literal []byte
	get     Variable
	capture bool // get is $1 to $9
}

// Compile reads text with $name, ${name} and $1 to $9 in it. The error is an *Error.
func (t *Table) Compile(text string) (*Template, error) {
	pieces, _, fault := split(text, true)
	if fault != nil {
		return nil, fault
	}
	tp := &Template{text: text}
	for _, p := range pieces {
		switch {
		case p.Capture > 0:
			tp.parts = append(tp.parts, part{get: capture(p.Capture), capture: true})
		case p.Variable == "":
			tp.parts = append(tp.parts, part{literal: []byte(p.Literal)})
		default:
			v, err := t.Lookup(p.Variable)
			if err != nil {
				return nil, err
			}
			tp.parts = append(tp.parts, part{get: v})
		}
	}
	return tp, nil
}

// CompileWord compiles an argument of a directive and reports what is wrong with it. It returns nil then.
func (t *Table) CompileWord(w conf.Word, errs *conf.Errors) *Template {
	tp, err := t.Compile(w.Text)
	if err != nil {
		Report(errs, w.Pos, err)
		return nil
	}
	return tp
}

// Append appends the template's value in r to dst.
func (tp *Template) Append(r *request.Request, dst []byte) []byte {
	for i := range tp.parts {
		if p := &tp.parts[i]; p.get != nil {
			dst, _ = p.get(r, dst)
		} else {
			dst = append(dst, p.literal...)
		}
	}
	return dst
}

// AppendArgument is Append for a text that becomes part of a query: what captures hold is escaped, if the path they were
// taken out of came with escapes.
func (tp *Template) AppendArgument(r *request.Request, dst []byte) []byte {
	for i := range tp.parts {
		switch p := &tp.parts[i]; {
		case p.get == nil:
			dst = append(dst, p.literal...)
		case p.capture && r.Escaped():
			raw := len(dst)
			dst, _ = p.get(r, dst)
			end := len(dst)
			dst = request.AppendArgument(dst, dst[raw:end])
			dst = append(dst[:raw], dst[end:]...)
		default:
			dst, _ = p.get(r, dst)
		}
	}
	return dst
}

// Constant returns the value of a template without variables.
func (tp *Template) Constant() (value []byte, ok bool) {
	switch {
	case len(tp.parts) == 0:
		return []byte{}, true
	case len(tp.parts) == 1 && tp.parts[0].get == nil:
		return tp.parts[0].literal, true
	}
	return nil, false
}

// String returns the text the template was compiled from.
func (tp *Template) String() string { return tp.text }

// capture is $1 to $9.
func capture(n int) Variable {
	return func(r *request.Request, dst []byte) ([]byte, bool) {
		if n >= len(r.Captures) {
			return dst, false
		}
		return append(dst, r.Captures[n]...), true
	}
}

// Piece is literal text, the name of a variable, or the number of a capture.
type Piece struct {
	Literal  string
	Variable string
	Capture  int // $1 to $9
}

// Split splits text at its variables without looking them up, as log_format does: it knows no captures. The error is an
// *Error.
func Split(text string) ([]Piece, error) {
	pieces, rest, err := split(text, false)
	if err == errNoName {
		return nil, &Error{Msg: `invalid parameter "` + rest + `"`, Help: errNoName.Help}
	}
	if err != nil {
		return nil, err
	}
	return pieces, nil
}

// errNoName is the fault of a dollar sign that no name follows.
var errNoName = &Error{Msg: "invalid variable name", Help: "a dollar sign starts the name of a variable, as in $uri or ${uri}"}

// split splits text at its variables. rest is where a fault begins.
func split(text string, captures bool) (pieces []Piece, rest string, fault *Error) {
	for i := 0; i < len(text); {
		if n := strings.IndexByte(text[i:], '$'); n != 0 {
			if n < 0 {
				n = len(text) - i
			}
			pieces = append(pieces, Piece{Literal: text[i : i+n]})
			i += n
			continue
		}
		if captures && i+1 < len(text) && text[i+1] >= '1' && text[i+1] <= '9' {
			pieces = append(pieces, Piece{Capture: int(text[i+1] - '0')})
			i += 2
			continue
		}
		name, next, fault := scanName(text, i+1)
		if fault != nil {
			return nil, text[i:], fault
		}
		pieces = append(pieces, Piece{Variable: name})
		i = next
	}
	return pieces, "", nil
}

// scanName reads the name that begins at i, behind its dollar sign.
func scanName(text string, i int) (name string, next int, fault *Error) {
	bracket := i < len(text) && text[i] == '{'
	if bracket {
		i++
	}
	end := i
	for end < len(text) && isNameByte(text[end]) {
		end++
	}
	name, next = text[i:end], end
	switch {
	case bracket && end < len(text) && text[end] == '}':
		next++
	case bracket && i < len(text):
		return "", 0, &Error{Msg: `the closing bracket in "` + name + `" variable is missing`}
	}
	if name == "" {
		return "", 0, errNoName
	}
	return name, next, nil
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// Report adds err, which Compile, Lookup or Setter returned for the word at a place, to errs.
func Report(errs *conf.Errors, at conf.Pos, err error) {
	e, ok := err.(*Error)
	if !ok {
		errs.Add(at, err.Error(), "")
		return
	}
	if !e.Late {
		errs.Add(at, e.Msg, e.Help)
		return
	}
	help := e.Help
	if place := at.String(); place != "" {
		help = "used at " + place + "; " + help
	}
	errs.Late(conf.AtHTTPEnd, conf.Pos{}, e.Msg, help)
}
