package conf

import "strings"

// Decision is a limit_decision directive.
type Decision struct {
	From   DecisionSource
	Header bool // refusals are 403, and header fields say the rest
}

// DecisionSource is where a question says what it asks about.
type DecisionSource uint8

// The values of from=.
const (
	FromEither DecisionSource = iota
	FromOriginal
	FromIngress
	FromForwarded
	FromRequest
)

// ReadDecision reads limit_decision.
func ReadDecision(d *Directive, errs *Errors) (Decision, bool) {
	var out Decision
	for _, a := range d.Args {
		value, from := strings.CutPrefix(a.Text, "from=")
		switch {
		case a.Text == "header" && !out.Header:
			out.Header = true
			continue
		case !from || out.From != FromEither:
			badParameter(d, a, errs)
			return out, false
		}
		switch value {
		case "original":
			out.From = FromOriginal
		case "ingress":
			out.From = FromIngress
		case "forwarded":
			out.From = FromForwarded
		case "request":
			out.From = FromRequest
		default:
			errs.Add(a.Pos, `invalid value "`+a.Text+`"`, "write from=original for nginx, from=ingress for ingress-nginx, from=forwarded for Traefik and Caddy, or from=request")
			return out, false
		}
	}
	return out, true
}
