package conf

import (
	"slices"
	"strings"
)

// ReadPeers reads set_real_ip_from: an address, a prefix, unix: or a host name.
func ReadPeers(d *Directive, errs *Errors) (Network, bool) {
	if d.Arg(0) == "unix:" {
		return Network{Unix: true}, true
	}
	prefix, lowBits, ok := ParseNetwork(d.Arg(0))
	if !ok {
		return Network{Host: d.Arg(0)}, true
	}
	noteLowBits(d, lowBits, errs)
	return Network{Prefix: prefix}, true
}

// ReadRule reads allow and deny: all, unix:, an address or a prefix.
func ReadRule(d *Directive, errs *Errors) (Network, bool) {
	switch d.Arg(0) {
	case "all":
		return Network{All: true}, true
	case "unix:":
		return Network{Unix: true}, true
	}
	prefix, lowBits, ok := ParseNetwork(d.Arg(0))
	if !ok {
		errs.Add(d.At(0), `invalid parameter "`+d.Arg(0)+`"`, "write an address, ADDRESS/BITS, unix: or all")
		return Network{}, false
	}
	noteLowBits(d, lowBits, errs)
	return Network{Prefix: prefix}, true
}

func noteLowBits(d *Directive, lowBits bool, errs *Errors) {
	if lowBits {
		errs.Note(d.At(0), "low address bits of "+d.Arg(0)+" are meaningless", "")
	}
}

// exceptable are the methods that limit_except knows by name (ngx_methods_names).
var exceptable = [...]string{"GET", "HEAD", "POST", "PUT", "DELETE", "MKCOL", "COPY", "MOVE", "OPTIONS", "PROPFIND", "PROPPATCH", "LOCK", "UNLOCK", "PATCH"}

// ReadMethods reads limit_except: the methods for which its block does not hold, in capitals.
func ReadMethods(d *Directive, errs *Errors) (methods []string, good bool) {
	for _, w := range d.Args {
		method := strings.ToUpper(w.Text)
		if !slices.Contains(exceptable[:], method) {
			errs.Add(w.Pos, `invalid method "`+w.Text+`"`, "it is one of: "+strings.Join(exceptable[:], ", "))
			return nil, false
		}
		methods = append(methods, method)
	}
	if slices.Contains(methods, "GET") {
		methods = append(methods, "HEAD")
	}
	return methods, true
}
