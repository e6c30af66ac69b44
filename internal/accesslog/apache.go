package accesslog

import (
	"fmt"
	"strings"

	"github.com/limitgate/limitgate/internal/logformat"
)

// apacheFormat compiles the text of a LogFormat, with or without the backslashes that it has in a configuration.
func apacheFormat(name, text string) (*Format, error) {
	a := &apache{}
	if err := a.compile(text); err != nil {
		return nil, err
	}
	l, err := newLayout(a.parts, a.columns, logformat.Default, false)
	if err != nil {
		return nil, err
	}
	return &Format{name: name, layouts: []*layout{l}}, nil
}

// apache makes parts and columns of a LogFormat.
type apache struct {
	parts   []logformat.Part
	columns []column
}

func (a *apache) literal(text string) {
	if n := len(a.parts); n > 0 && a.parts[n-1].Variable == "" {
		a.parts[n-1].Literal += text
		return
	}
	a.parts, a.columns = append(a.parts, logformat.Part{Literal: text}), append(a.columns, column{})
}

func (a *apache) column(c column) {
	a.parts, a.columns = append(a.parts, logformat.Part{Variable: c.name}), append(a.columns, c)
}

func (a *apache) compile(text string) error {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			switch text[i+1] {
			case 'n':
				a.literal("\n")
			case 't':
				a.literal("\t")
			case '"', '\\':
				a.literal(text[i+1 : i+2])
			default:
				a.literal(text[i : i+2])
			}
			i += 2
		case c != '%':
			a.literal(text[i : i+1])
			i++
		default:
			n, err := a.directive(text[i+1:])
			if err != nil {
				return err
			}
			i += 1 + n
		}
	}
	return nil
}

// directive reads what follows a percent sign and returns how long it is.
func (a *apache) directive(text string) (int, error) {
	i := 0
	for i < len(text) && (text[i] == '!' || text[i] == ',' || text[i] == '<' || text[i] == '>' || text[i]-'0' <= 9) {
		i++
	}
	argument := ""
	if i < len(text) && text[i] == '{' {
		end := strings.IndexByte(text[i:], '}')
		if end < 0 {
			return 0, fmt.Errorf("no closing brace in %q", "%"+text)
		}
		argument = text[i+1 : i+end]
		i += end + 1
	}
	if i == len(text) {
		return 0, fmt.Errorf("%q ends before its letter", "%"+text)
	}
	letter := text[i : i+1]
	if letter == "^" && i+2 < len(text) {
		letter = text[i : i+3]
	}
	i += len(letter)
	switch letter {
	case "%":
		a.literal("%")
		return i, nil
	case "t":
		return i, a.time(argument)
	case "q":
		if n := len(a.columns); n > 0 && a.columns[n-1].to == toPath {
			a.columns[n-1].to, a.columns[n-1].name = toURI, "request_uri"
			return i, nil
		}
	}
	c, ok := apacheColumn(letter, argument)
	if !ok {
		return 0, fmt.Errorf("there is no %q in a LogFormat", "%"+text[:i])
	}
	a.column(c)
	return i, nil
}

// time is %t and its like: when the request came, unless it says end.
func (a *apache) time(format string) error {
	c := column{name: "time_local"}
	if rest, ok := strings.CutPrefix(format, "end:"); ok {
		format, c.end = rest, true
	}
	format = strings.TrimPrefix(format, "begin:")
	switch format {
	case "":
		c.to = toLocalTime
		a.literal("[")
		a.column(c)
		a.literal("]")
		return nil
	case "sec":
		c.to, c.unit, c.name = toEpoch, second, "msec"
	case "msec":
		c.to, c.unit, c.name = toEpoch, second/1e3, "msec"
	case "usec":
		c.to, c.unit, c.name = toEpoch, second/1e6, "msec"
	case "msec_frac":
		c.to, c.unit = toFraction, second/1e3
	case "usec_frac":
		c.to, c.unit = toFraction, second/1e6
	default:
		f, err := newStrftime(format)
		if err != nil {
			return err
		}
		c.to, c.time = toStrftime, f
	}
	a.column(c)
	return nil
}

// apacheColumn is what a letter of a LogFormat means.
func apacheColumn(letter, argument string) (column, bool) {
	plain := map[string]column{
		"a": {to: toAddr, name: "remote_addr"}, "h": {to: toAddr, name: "remote_addr"}, "A": {name: "server_addr"},
		"B": {to: toBody, name: "body_bytes_sent"}, "b": {to: toBody, name: "body_bytes_sent", zero: true},
		"D": {to: toDuration, name: "request_time", unit: second / 1e6}, "f": {name: "request_filename"},
		"H": {to: toProtocol, name: "server_protocol"}, "k": {name: "keepalive_requests"}, "l": {name: "remote_logname"},
		"L": {name: "error_log_id"}, "m": {to: toMethod, name: "request_method"}, "p": {name: "server_port"}, "P": {name: "pid"},
		"q": {to: toQuery, name: "args"}, "r": {to: toRequest, name: "request"}, "R": {name: "handler"},
		"s": {to: toStatus, name: "status"}, "T": {to: toDuration, name: "request_time", unit: second},
		"u": {to: toUser, name: "remote_user"}, "U": {to: toPath, name: "uri"}, "v": {to: toServer, name: "server_name"},
		"V": {to: toHostName, name: "host"}, "X": {name: "connection_status"}, "I": {to: toLength, name: "request_length"},
		"O": {to: toSent, name: "bytes_sent"}, "S": {name: "bytes_transferred"},
	}
	c, ok := plain[letter]
	switch {
	case argument == "":
	case letter == "i":
		return headerColumn(argument), true
	case letter == "o":
		return column{name: "sent_http_" + variable(argument)}, true
	case letter == "C":
		return column{name: "cookie_" + argument}, true
	case letter == "e" || letter == "n" || letter == "x" || letter == "^ti" || letter == "^to":
		return column{name: variable(argument)}, true
	case letter == "a" && argument == "c":
		return column{name: "realip_remote_addr"}, true
	case letter == "p" && argument == "remote":
		return column{to: toPort, name: "remote_port"}, true
	case letter == "T":
		switch argument {
		case "ms":
			c.unit = second / 1e3
		case "us":
			c.unit = second / 1e6
		case "s":
		default:
			return c, false
		}
	}
	return c, ok
}

// variable makes a variable's name of a header's.
func variable(header string) string { return strings.ReplaceAll(strings.ToLower(header), "-", "_") }
