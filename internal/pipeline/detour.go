package pipeline

import (
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// maxRedirects bounds the redirects inside (NGX_HTTP_MAX_URI_CHANGES).
const maxRedirects = 10

// rewritten looks for the location of a request anew whose path the Rewrite phase has changed
// (ngx_http_core_post_rewrite_phase).
func (j *journey) rewritten() int {
	j.r.Detour = request.Detour{}
	if !j.mayRedirect(`processing "%s"`, j.r.URI) {
		return j.fail()
	}
	j.enter(j.p.servers[j.r.Server].scope)
	return atMatch
}

// detour sends the request to the place inside the server that r.Detour names. Whatever sends a request elsewhere comes
// here: error_page, index, try_files, X-Accel-Redirect.
func (j *journey) detour() int {
	j.r.ProxyHost, j.r.ProxyPort = nil, nil // they are of the location it leaves
	if d := j.r.Detour; len(d.Path) > 0 && d.Path[0] == '@' {
		return j.named(d.Path)
	}
	return j.inside()
}

// inside begins anew with another path (ngx_http_internal_redirect).
func (j *journey) inside() int {
	r := j.r
	if !j.mayRedirect(`internally redirecting to "%s"`, r.Detour.Path) {
		return j.fail()
	}
	r.URI, r.Args = r.Detour.Path, r.Detour.Args
	r.Internal, r.Rewritten, r.Detached, r.Appended = true, true, false, false
	j.enter(j.p.servers[r.Server].scope)
	return atServer
}

// named sends the request to a location that has a name and no path (ngx_http_named_location). Its own path stays.
func (j *journey) named(name []byte) int {
	r := j.r
	if !j.mayRedirect(`redirect to named location "%s"`, name) {
		return j.fail()
	}
	if len(r.URI) == 0 {
		r.Logf(errorlog.Error, `empty URI in redirect to named location "%s"%s`, name, r.Detour.While)
		r.Fail(500)
		return j.fail()
	}
	location, found := j.p.servers[r.Server].locations.Named(name)
	if !found {
		r.Logf(errorlog.Error, `could not find named location "%s"%s`, name, r.Detour.While)
		r.Fail(500)
		return j.fail()
	}
	r.Internal = true
	j.enter(location)
	return atLocation
}

// mayRedirect counts a redirect inside. After too many it makes the answer an error; doing and where say which one it was.
func (j *journey) mayRedirect(doing string, where []byte) bool {
	j.r.Redirects++
	if j.r.Redirects <= maxRedirects {
		return true
	}
	j.r.Logf(errorlog.Error, "rewrite or internal redirection cycle while "+doing+"%s", where, j.r.Detour.While)
	j.r.Fail(500)
	return false
}
