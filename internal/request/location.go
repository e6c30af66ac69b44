package request

import "strconv"

// completeLocation makes a Location that is only a path a whole URL, with the name and port the client asked for
// (ngx_http_header_filter). A Location among r.Response.Headers stays as it is.
func (r *Request) completeLocation() {
	path := r.Response.Location
	var how Redirects
	if r.Settings != nil {
		how = r.Settings.Redirects
	}
	if len(path) == 0 || path[0] != '/' || how.Relative {
		return
	}
	scheme, usual := "http://", uint16(80)
	if r.Secure() {
		scheme, usual = "https://", 443
	}
	b := append(r.Scratch(), scheme...)
	switch local := r.Conn.LocalAddr; {
	case how.ServerName:
		b = append(b, r.Settings.ServerName...)
	case len(r.Host) > 0:
		b = append(b, r.Host...)
	case local.IsValid() && local.Addr().Is6():
		b = append(AppendAddr(append(b, '['), local.Addr()), ']')
	case local.IsValid():
		b = AppendAddr(b, local.Addr())
	default:
		b = append(append(b, "unix:"...), r.Conn.UnixPath...)
	}
	if port := r.Conn.LocalAddr.Port(); port != 0 && port != usual && !how.NoPort {
		b = strconv.AppendUint(append(b, ':'), uint64(port), 10)
	}
	r.Response.Location, r.Response.Absolute = r.Claim(append(b, path...)), true
}
