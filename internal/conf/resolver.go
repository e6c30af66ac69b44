package conf

import (
	"strings"
	"time"
)

// Resolver is a resolver directive: who is asked for the addresses of names.
type Resolver struct {
	Servers []Endpoint    // in the order they are asked in turn; those that are host names are still to be looked up
	Valid   time.Duration // how long an answer holds; 0: as long as it says
	IPv4    bool
	IPv6    bool
}

// ReadResolver reads a resolver directive.
func ReadResolver(d *Directive, errs *Errors) (Resolver, bool) {
	r := Resolver{IPv4: true, IPv6: true}
	for i, a := range d.Args {
		name, value, _ := strings.Cut(a.Text, "=")
		ok := true
		switch name {
		case "valid":
			if r.Valid, ok = ParseSeconds(value); r.Valid == 0 {
				ok = false
			}
		case "ipv4":
			r.IPv4, ok = value == "on", value == "on" || value == "off"
		case "ipv6":
			r.IPv6, ok = value == "on", value == "on" || value == "off"
		default:
			e, fault := ParseEndpoint(a.Text, 53)
			if fault == "" && e.Unix != "" {
				fault = "a unix socket"
			}
			if fault != "" {
				errs.Add(d.At(i), fault+` in resolver "`+a.Text+`"`, "write ADDRESS, ADDRESS:PORT or [IPV6]:PORT of a name server")
				return r, false
			}
			r.Servers = append(r.Servers, e)
		}
		if !ok {
			errs.Add(d.At(i), "invalid parameter: "+a.Text, d.usage())
			return r, false
		}
	}
	switch {
	case !r.IPv4 && !r.IPv6:
		errs.Add(d.At(0), `"ipv4" and "ipv6" cannot both be "off"`, "leave one of them out")
		return r, false
	case len(r.Servers) == 0:
		errs.Add(d.At(0), "no name servers defined", d.usage())
		return r, false
	}
	return r, true
}

func checkResolver(c *checker, d *Directive) { ReadResolver(d, c.errs) }
