package conformance

import "strings"

// each asks for a path once with each of some fields; an empty one is none.
func each(path string, fields ...string) (out []string) {
	for _, f := range fields {
		if f == "" {
			out = append(out, httpGet(path))
		} else {
			out = append(out, httpGet(path, strings.Split(f, "|")...))
		}
	}
	return out
}

// all joins lists of requests.
func all(lists ...[]string) (out []string) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

const treeBehind = ` server { listen 127.0.0.1:@8081@; access_log off; root html; default_type text/plain; %s }`

var contents = []content{
	{
		name: "files and their conditions",
		http: `server { listen 127.0.0.1:@8080@; root html; location /before/ { alias html/; if_modified_since before; } location /off/ { alias html/; if_modified_since off; }
			location /noetag/ { alias html/; etag off; } location /text { return 200 "a text"; } location /own { alias html/a.txt; add_header ETag '"mine"'; add_header Last-Modified "` + beforeTree + `"; }
			location /page/ { alias html/; error_page 412 /404.html; } }`,
		raw: all(
			each("/a.txt", "", "If-Modified-Since: "+treeDate, "If-Modified-Since: "+beforeTree, "If-Modified-Since: "+afterTree, "If-Modified-Since: junk",
				"If-Modified-Since: Thursday, 29-Feb-24 12:00:01 GMT", "If-Modified-Since: Thu Feb 29 12:00:01 2024", "If-Modified-Since: Thu, 29 Feb 2024 12:00:01",
				"If-Modified-Since: Thu, 29 Feb 2024 12:00:01 PST", "If-Modified-Since: x,29 Feb 2024 12:00:01 GMT", "If-Modified-Since: Thu, 31 Feb 2024 12:00:01 GMT",
				"If-None-Match: "+tagA, "If-None-Match: W/"+tagA, "If-None-Match: *", `If-None-Match: "x"`, `If-None-Match: "x" , `+tagA, `If-None-Match: "x",W/`+tagA+" ,", "If-None-Match: "+tagA+"x",
				"If-None-Match: "+tagA+"|If-Modified-Since: "+beforeTree, "If-None-Match: "+tagA+"|If-Modified-Since: "+treeDate, `If-None-Match: "x"|If-Modified-Since: `+treeDate,
				"If-Match: "+tagA, "If-Match: W/"+tagA, "If-Match: *", `If-Match: "x"`, `If-Match: "x", `+tagA, "If-Match: ", `If-Match: "x"|If-None-Match: *`,
				"If-Unmodified-Since: "+treeDate, "If-Unmodified-Since: "+beforeTree, "If-Unmodified-Since: "+afterTree, "If-Unmodified-Since: junk"),
			each("/before/a.txt", "If-Modified-Since: "+beforeTree, "If-Modified-Since: "+treeDate, "If-Modified-Since: "+afterTree, "If-Modified-Since: junk"),
			each("/off/a.txt", "If-Modified-Since: "+treeDate, "If-None-Match: "+tagA, "If-None-Match: "+tagA+"|If-Modified-Since: "+treeDate),
			each("/noetag/a.txt", "", "If-None-Match: "+tagA, "If-Modified-Since: "+treeDate, "If-None-Match: *", "If-Match: "+tagA),
			each("/text", "", "If-None-Match: *", "If-Match: *", "If-Match: x", "If-Modified-Since: "+treeDate, "If-Unmodified-Since: "+treeDate, "Range: bytes=0-1"),
			each("/own", "", `If-None-Match: "mine"`, "If-None-Match: "+tagA, "If-Modified-Since: "+treeDate, "If-Modified-Since: "+beforeTree, "Range: bytes=0-1|If-Range: "+beforeTree,
				"Range: bytes=0-1|If-Range: "+treeDate, `Range: bytes=0-1|If-Range: "mine"`),
			each("/page/a.txt", `If-Match: "x"`), each("/nothing", `If-Match: "x"`, "If-None-Match: *", "If-Unmodified-Since: "+beforeTree),
			[]string{"HEAD /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\nIf-None-Match: *\r\n\r\n", "HEAD /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\nIf-Match: x\r\n\r\n",
				"HEAD /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET /a.txt\r\n", "GET /a.txt HTTP/1.0\r\nIf-None-Match: *\r\n\r\n"},
		),
	},
	{
		name: "ranges",
		http: `log_format r '$status $sent_http_content_range $sent_http_accept_ranges $sent_http_last_modified'; 
		server { listen 127.0.0.1:@8080@; root html; access_log logs/access.log r; add_header X-A a; add_header X-B b always; location /none/ { alias html/; max_ranges 0; }
			location /one/ { alias html/; max_ranges 1; } location /two/ { alias html/; max_ranges 2; types { } default_type ""; }
			location /page/ { alias html/; error_page 416 /404.html; } location /pass/ { proxy_pass http://127.0.0.1:@8081@/; } location /force/ { proxy_pass http://127.0.0.1:@8081@/; proxy_force_ranges on; proxy_set_header Range ""; } }` +
			strings.Replace(treeBehind, "%s", "max_ranges 5; location /t { return 200 0123456789; } location /chunks { chunked_transfer_encoding on; gzip on; gzip_types *; gzip_min_length 0; }", 1),
		raw: all(
			each("/a.txt", "Range: bytes=1-2", "Range: Bytes= 3 - 5 ", "Range: bytes=30-", "Range: bytes=-5", "Range: bytes=- 5", "Range: bytes=-99", "Range: bytes=5-99", "Range: bytes=37-", "Range: bytes=36-",
				"Range: bytes=-0", "Range: bytes=3-1", "Range: bytes=x", "Range: bytes=1-x", "Range: bytes=1", "Range: bytes=", "Range: bytes=-", "Range: bytes=1-2x", "Range: bytes=1 2-3", "Range: lines=1-2",
				"Range: bytes=99999999999999999999-", "Range: bytes=0-99999999999999999999", "Range: bytes=0-0,2-3", "Range: bytes=5-6, 0-1 ,-2", "Range: bytes=0-36,1-2", "Range: bytes=0-20,10-25,20-30",
				"Range: bytes=0-0,50-60", "Range: bytes=50-60,70-", "Range: bytes=0-0,", "Range: bytes=,0-0", "Range: bytes=0-0,x", "Range: bytes=1-1,1-1,1-1",
				"Range: bytes=1-2|If-Range: "+tagA, `Range: bytes=1-2|If-Range: "x"`, "Range: bytes=1-2|If-Range: W/"+tagA, "Range: bytes=1-2|If-Range: "+treeDate, "Range: bytes=1-2|If-Range: "+afterTree,
				"Range: bytes=1-2|If-Range: junk", "Range: bytes=1-2|If-Range: ", "Range: bytes=1-2|If-None-Match: *", "Range: bytes=99-|If-None-Match: *", "Range: bytes=1-2|If-Match: x"),
			each("/e", "Range: bytes=0-", "Range: bytes=-1", "Range: bytes=1-", "Range: bytes=-0"),
			each("/none/a.txt", "", "Range: bytes=1-2", "Range: bytes=99-"), each("/one/a.txt", "Range: bytes=1-2", "Range: bytes=1-2,4-5", "Range: bytes=1-2,99-"),
			each("/two/a.txt", "Range: bytes=1-2,4-5", "Range: bytes=1-1,2-2,3-3"), each("/page/a.txt", "Range: bytes=99-"), each("/nothing", "Range: bytes=1-2"),
			each("/pass/a.txt", "Range: bytes=1-2", "Range: bytes=1-2,4-5", "Range: bytes=99-", "", "If-None-Match: *"),
			each("/force/a.txt", "Range: bytes=1-2", "Range: bytes=1-2,4-5", "Range: bytes=99-", "", "Range: bytes=1-2|If-Range: "+treeDate, "Range: bytes=1-2|If-Range: "+tagA, "Range: bytes=1-2|If-Range: x"),
			each("/force/big.txt", "Range: bytes=100000-100010", "Range: bytes=-20"), each("/big.txt", "Range: bytes=100000-100010,5-9,-20"),
			each("/force/t", "Range: bytes=1-2"), each("/force/nothing", "Range: bytes=1-2"),
			[]string{"HEAD /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\nRange: bytes=1-2\r\n\r\n", "HEAD /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\nRange: bytes=1-2,4-5\r\n\r\n",
				"HEAD /force/a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\nRange: bytes=1-2\r\n\r\n",
				"GET /a.txt HTTP/1.0\r\nRange: bytes=1-2,4-5\r\n\r\n", "POST /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\nRange: bytes=1-2\r\n\r\n"},
		),
	},
	{
		name: "compression: who gets it",
		http: `gzip on; gzip_types text/plain text/css application/json; gzip_vary on; default_type text/plain;
		server { listen 127.0.0.1:@8080@; root html; access_log off; location /t { return 200 "a text that is long enough to be compressed"; } location /short { return 200 short; }
			location /typed { default_type "text/plain; charset=x"; return 200 "a text that is long enough to be compressed"; } location /403 { return 403; } location /500 { return 500; } location /301 { return 301 /; }
			location /own { add_header Date x; add_header Server y; add_header Content-Length z; add_header Expires a; add_header Link b; return 200 "a text that is long enough to be compressed"; }
			location /201 { return 201 "a text that is long enough to be compressed"; } location /404t { return 404 "a text that is long enough to be compressed"; }
			location /coded { add_header Content-Encoding br; return 200 "a text that is long enough to be compressed"; } location /off/ { alias html/; gzip off; } location /any/ { alias html/; gzip_types *; gzip_min_length 0; }
			location /10/ { alias html/; gzip_http_version 1.0; gzip_vary off; } location /min/ { alias html/; gzip_min_length 1k; } location /max/ { alias html/; gzip_comp_level 9; gzip_disable "curl/[1-6]" msie6; }
			location /etag { alias html/p.html; add_header ETag odd; } location /weak { alias html/p.html; add_header ETag 'W/"x"'; } location /empty { alias html/p.html; add_header ETag '"'; }
			location /page { error_page 404 /404.html; alias html/none; } location /pass/ { proxy_pass http://127.0.0.1:@8081@/; } location /json { default_type APPLICATION/Json; alias html/e; } }` +
			strings.Replace(treeBehind, "%s", `location /c { add_header X-Accel-Buffering no; default_type "text/html; charset=utf-8"; return 200 "a text that is long enough to be compressed"; }
				location /v { default_type "text/html; version=2"; return 200 "a text that is long enough to be compressed"; } location /z { gzip on; gzip_types *; } location /br { add_header Content-Encoding ""; add_header Vary Cookie; return 200 "a text that is long enough to be compressed"; }`, 1),
		raw: all(
			each("/p.html", "", "Accept-Encoding: gzip", "Accept-Encoding: GZip", "Accept-Encoding: gzip, deflate", "Accept-Encoding: deflate,gzip", "Accept-Encoding: deflate; gzip", "Accept-Encoding: xgzip", "Accept-Encoding: x-gzip", "Accept-Encoding: gzipx",
				"Accept-Encoding: gzi", "Accept-Encoding: *", "Accept-Encoding: gzip;q=0", "Accept-Encoding: gzip;q=0.0", "Accept-Encoding: gzip;q=0.001", "Accept-Encoding: gzip;q=0.0001", "Accept-Encoding: gzip;q=1", "Accept-Encoding: gzip;q=1.0",
				"Accept-Encoding: gzip;q=1.001", "Accept-Encoding: gzip;q=2", "Accept-Encoding: gzip; q=0.5", "Accept-Encoding: gzip ; Q=.5", "Accept-Encoding: gzip;q=", "Accept-Encoding: gzip;q", "Accept-Encoding: gzip;", "Accept-Encoding: gzip;q=x",
				"Accept-Encoding: gzip;q=0.5,br", "Accept-Encoding: gzip;q=0, gzip", "Accept-Encoding: xgzip, gzip", "Accept-Encoding: gzip x", "Accept-Encoding: gzip;q =1", "Accept-Encoding: gzip;q=0.x", "Accept-Encoding: gzip;q=1x",
				"Accept-Encoding: gzip|Via: 1.1 p", "Accept-Encoding: gzip|If-None-Match: *", "Accept-Encoding: gzip|Range: bytes=1-2", "Accept-Encoding: br|Range: bytes=1-2", "Accept-Encoding: gzip|User-Agent: MSIE 6.0; x"),
			each("/t", "Accept-Encoding: gzip"), each("/short", "Accept-Encoding: gzip"), each("/typed", "Accept-Encoding: gzip"), each("/403", "Accept-Encoding: gzip"), each("/500", "Accept-Encoding: gzip"),
			each("/301", "Accept-Encoding: gzip"), each("/own", "Accept-Encoding: gzip", ""), each("/201", "Accept-Encoding: gzip"), each("/404t", "Accept-Encoding: gzip"), each("/coded", "Accept-Encoding: gzip"), each("/nothing", "Accept-Encoding: gzip", ""),
			each("/off/p.html", "Accept-Encoding: gzip"), each("/any/a.txt", "Accept-Encoding: gzip"), each("/any/e", "Accept-Encoding: gzip"), each("/a.txt", "Accept-Encoding: gzip"), each("/X.JSON", "Accept-Encoding: gzip"),
			each("/min/p.html", "Accept-Encoding: gzip"), each("/min/big.txt", "Accept-Encoding: gzip"), each("/max/big.txt", "Accept-Encoding: gzip", "Accept-Encoding: gzip|User-Agent: CURL/5", "Accept-Encoding: gzip|User-Agent: curl/8", "Accept-Encoding: gzip|User-Agent: x MSIE 6.0; y", "Accept-Encoding: gzip|User-Agent: MSIE 6.0; SV1"),
			each("/etag", "Accept-Encoding: gzip", ""), each("/weak", "Accept-Encoding: gzip"), each("/empty", "Accept-Encoding: gzip"), each("/page", "Accept-Encoding: gzip"), each("/json", "Accept-Encoding: gzip"),
			each("/pass/p.html", "Accept-Encoding: gzip", ""), each("/pass/c", "Accept-Encoding: gzip"), each("/pass/v", "Accept-Encoding: gzip"), each("/pass/br", "Accept-Encoding: gzip"), each("/pass/big.txt", "Accept-Encoding: gzip"), each("/pass/z/", "Accept-Encoding: gzip"), each("/pass/none", "Accept-Encoding: gzip"),
			[]string{"HEAD /p.html HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n", "GET /p.html HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n", "GET /10/p.html HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n",
				"GET /10/p.html HTTP/1.0\r\nConnection: keep-alive\r\nAccept-Encoding: gzip\r\n\r\n", "GET /p.html HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\nGET /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
				"GET /p.html\r\n"},
		),
	},
	{
		name: "compression for proxies",
		http: `gzip on; gzip_types *; gzip_min_length 0;
		server { listen 127.0.0.1:@8081@; gzip off; add_header Expires $http_e; add_header Cache-Control $http_c; add_header Cache-Control $http_d; add_header ETag $http_t; add_header Last-Modified $http_l; return 200 text; }
		server { listen 127.0.0.1:@8080@; root html; access_log off; ` + func() string {
			var b strings.Builder
			for _, f := range []string{"off", "expired", "no-cache", "no-store", "private", "no_last_modified", "no_etag", "auth", "any", "off any", "expired no_etag"} {
				b.WriteString("location /" + strings.ReplaceAll(f, " ", "+") + " { gzip_proxied " + f + "; proxy_pass http://127.0.0.1:@8081@; } ")
			}
			return b.String() + " location /f/etag { gzip_proxied no_etag; alias html/a.txt; } location /f/lm { gzip_proxied no_last_modified; alias html/a.txt; } }"
		}(),
		raw: func() (out []string) {
			for _, f := range []string{"off", "expired", "no-cache", "no-store", "private", "no_last_modified", "no_etag", "auth", "any", "off+any", "expired+no_etag", "f/etag", "f/lm"} {
				for _, answer := range []string{"X: x", "E: " + treeDate, "E: Thu, 29 Feb 2029 12:00:01 GMT", "E: x", "C: no-cache", "C: max-age=1|D: No-Cache", "C: max-age=1, private", "C: private=x", "C: private;x", "C: x;private",
					"C: no-storex, no-store", "C: privat", "T: x", "L: x", "E: x|C: no-cache"} {
					out = append(out, httpGet("/"+f, append(strings.Split(answer, "|"), "Accept-Encoding: gzip", "Via: 1.1 p")...))
				}
				out = append(out, httpGet("/"+f, "Accept-Encoding: gzip", "Via: 1.1 p", "Authorization: x"))
			}
			return out
		}(),
	},
}
