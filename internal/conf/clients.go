package conf

import "strings"

// ReadExempt reads limit_exempt: addresses, prefixes and unix:, or none.
func ReadExempt(d *Directive, errs *Errors) ([]Network, bool) {
	if len(d.Args) == 1 && d.Arg(0) == "none" {
		return nil, true
	}
	var list []Network
	for _, a := range d.Args {
		if a.Text == "unix:" {
			list = append(list, Network{Unix: true})
			continue
		}
		prefix, lowBits, ok := ParseNetwork(a.Text)
		if !ok {
			errs.Add(a.Pos, `invalid parameter "`+a.Text+`"`, "write addresses, ADDRESS/BITS or unix:, or none alone")
			return nil, false
		}
		if lowBits {
			errs.Note(a.Pos, "low address bits of "+a.Text+" are meaningless", "")
		}
		list = append(list, Network{Prefix: prefix})
	}
	return list, true
}

// ErrorBody is a limit_error_body directive.
type ErrorBody struct {
	JSON bool
	File string // "" where the body is the page of the status, or JSON
	Type string // of the file
}

// ReadErrorBody reads limit_error_body.
func ReadErrorBody(d *Directive, errs *Errors) (ErrorBody, bool) {
	name := d.Arg(0)
	switch name {
	case "html":
		return ErrorBody{}, true
	case "json":
		return ErrorBody{JSON: true}, true
	}
	for _, t := range [...]struct{ end, is string }{
		{".html", "text/html"}, {".htm", "text/html"}, {".json", "application/json"}, {".txt", "text/plain"}, {".xml", "application/xml"},
	} {
		if strings.HasSuffix(strings.ToLower(name), t.end) {
			return ErrorBody{File: name, Type: t.is}, true
		}
	}
	errs.Add(d.At(0), `invalid value "`+name+`" in "`+d.Name+`" directive`, "write html, json, or a file whose name ends with .html, .json, .txt or .xml")
	return ErrorBody{}, false
}

// ClientNetwork is a limit_client_network directive: bits of an address, 0 where it does not say.
type ClientNetwork struct{ IPv4, IPv6 int64 }

// ReadClientNetwork reads limit_client_network.
func ReadClientNetwork(d *Directive, errs *Errors) (ClientNetwork, bool) {
	var c ClientNetwork
	for _, a := range d.Args {
		name, value, _ := strings.Cut(a.Text, "=")
		bits, most := &c.IPv4, int64(32)
		switch name {
		case "ipv4":
		case "ipv6":
			bits, most = &c.IPv6, 128
		default:
			badParameter(d, a, errs)
			return c, false
		}
		n, ok := ParseInt(value)
		if !ok || n < 1 || n > most {
			errs.Add(a.Pos, `invalid value "`+a.Text+`"`, "bits of an address: ipv4=1 to ipv4=32, ipv6=1 to ipv6=128")
			return c, false
		}
		*bits = n
	}
	return c, true
}
