package conformance

import (
	"fmt"
	"strings"
)

const upstreamLog = `log_format up '$request_uri $status|$upstream_addr|$upstream_status|$upstream_connect_time|$upstream_header_time|$upstream_response_time|'
	'$upstream_response_length|$upstream_bytes_sent|$upstream_bytes_received|$upstream_http_x_peer|$upstream_cookie_a|$upstream_trailer_x|$proxy_host|$proxy_port';
	access_log logs/access.log up; `

// front is the server in front of the peers.
func front(locations string) string {
	return "server { listen 127.0.0.1:@8080@; proxy_read_timeout 400ms; " + locations + " }"
}

// nexts are what becomes of requests that an upstream fails, each location with a group of its own.
func nexts() proxied {
	p := proxied{side: side{name: "next upstream", headers: []string{"X-Peer", "Connection", "Content-Length"}}, say: map[string]string{
		"half": "HTTP/1.1 200 OK\r\nContent-", "big": "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 5000) + "\r\n\r\n",
		"line": "HTTP/1.1 200 OK\r\n: c\r\n\r\n",
	}}
	for _, status := range []int{400, 403, 404, 429, 500, 501, 502, 503, 504} {
		p.say[fmt.Sprintf("s%d-", status)] = fmt.Sprintf("HTTP/1.1 %d Said\r\nContent-Length: 4\r\n\r\nbody", status)
	}
	groups, locations := "", ""
	for i, c := range []struct {
		servers, directives string
		paths               string // POST where one begins with a plus sign
	}{
		{"", "", "drop1 drop1 drop1 drop drop"},
		{"", "", "reset1 half1 ok"},
		{"max_fails=2", "", "drop1 drop1 drop1 drop1 drop1 drop1"},
		{"max_fails=0", "", "drop1 drop1 drop1 drop drop"},
		{"weight=3", "", "ok ok drop1 ok ok ok ok"},
		{"down", "", "ok drop2 ok"},
		{"backup", "", "ok drop2 ok drop1 ok"},
		{"", "proxy_next_upstream off;", "drop1 drop2 ok"},
		{"", "proxy_next_upstream off error;", "drop1"},
		{"", "proxy_next_upstream timeout;", "drop1 hang1"},
		{"", "", "hang1"},
		{"", "proxy_next_upstream error;", "hang1"},
		{"", "proxy_next_upstream http_403 http_404 http_429;", "s404-1 s404- s404-2 s403-1 s500-1 s429-1 s429-1 s429-2 ok"},
		{"", "proxy_next_upstream http_500 http_502 http_503 http_504;", "s500-1 s404-1 s502-2 s503-"},
		{"max_fails=0", "proxy_next_upstream http_500 http_502 http_503 http_504;", "s500-1 s502-1 s503- s503-1 s504- s504-1 s501-1 s400-1"},
		{"max_fails=0", "", "line1 line2 line1 big1 s500-1"},
		{"max_fails=0", "proxy_next_upstream invalid_header;", "line1 line2 big1 line drop1"},
		{"max_fails=0", "", "+drop1 +drop2 +ok"},
		{"max_fails=0", "proxy_next_upstream error non_idempotent http_500;", "+drop1 +drop2 +s500-1 +s500-2"},
		{"max_fails=0", "proxy_next_upstream http_500;", "+s500-1 +s500-2"},
		{"max_fails=0", "proxy_next_upstream_tries 1;", "drop1 drop2"},
		{"max_fails=0", "proxy_next_upstream_tries 2;", "drop drop1"},
		{"max_fails=0", "proxy_next_upstream_timeout 200ms;", "hang1 drop1 drop2"},
		{"max_fails=0", "proxy_next_upstream_timeout 10s;", "drop1 drop2"},
		{"weight=5 max_fails=3", "", "ok ok drop1 ok ok drop2 ok ok ok drop1 ok ok drop1 ok ok drop1 ok drop2 ok ok ok"},
		{"weight=7 max_fails=2; server RAW2 weight=3 max_fails=4; server RAW1 weight=2", "", "ok drop1 ok drop2 ok ok drop1 drop1 ok ok ok drop2 ok ok drop2 ok ok ok drop1 ok ok ok ok"},
		{"max_fails=2 fail_timeout=1s", "", "drop1 drop1 drop1 drop1 ok 2200ms ok ok ok ok drop1 drop1 drop1 ok ok"},
	} {
		groups += fmt.Sprintf("upstream u%d { server RAW1 %s; server RAW2; }\n", i, c.servers)
		if c.servers == "backup" {
			groups = strings.Replace(groups, "server RAW1 backup; server RAW2;", "server RAW2; server RAW1 backup;", 1)
		}
		locations += fmt.Sprintf("location /%d/ { %s proxy_pass http://u%d; }\n", i, c.directives, i)
		for path := range strings.FieldsSeq(c.paths) {
			if strings.HasSuffix(path, "ms") {
				p.raw = append(p.raw, path)
				continue
			}
			target := fmt.Sprintf("/%d/%s", i, path)
			if name, post := strings.CutPrefix(path, "+"); post {
				target = fmt.Sprintf("/%d/%s", i, name)
				p.raw = append(p.raw, "POST "+target+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc")
				continue
			}
			p.raw = append(p.raw, httpGet(target))
		}
	}
	p.http = upstreamLog + groups + front(locations)
	return p
}

// proxySides are what passes through a proxy and how.
func proxySides() []proxied {
	return []proxied{nexts(), {
		side: side{
			name: "errors of an upstream that error_page answers",
			http: upstreamLog + `upstream two { server RAW1 max_fails=0; server RAW2 max_fails=0; }` + front(`
				location / { proxy_pass http://RAW1; proxy_intercept_errors on; error_page 404 = @fallback; error_page 500 503 /page; error_page 401 /page; error_page 302 =200 /page; }
				location /off/ { proxy_pass http://RAW1; error_page 404 500 /page; }
				location /none/ { proxy_pass http://RAW1; proxy_intercept_errors on; }
				location /two/ { proxy_pass http://two; proxy_intercept_errors on; proxy_next_upstream http_404; error_page 404 @last; }
				location /chain/ { proxy_pass http://RAW1; proxy_intercept_errors on; error_page 404 /off/s404-; }
				location @fallback { proxy_pass http://RAW2; proxy_set_header X-Was $upstream_status; }
				location @last { return 200 "last $upstream_addr $upstream_status\n"; }
				location /page { return 200 "page $status $upstream_http_x_a $upstream_addr [$proxy_host]\n"; }
				location /missing/ { proxy_pass http://RAW1; proxy_intercept_errors on; error_page 404 /nowhere; } location /nowhere { root html; }
				location /dead/ { proxy_pass http://127.0.0.1:1; error_page 502 = @fallback; }`),
			raw: []string{httpGet("/s404-1"), httpGet("/s404-"), httpGet("/s500-"), httpGet("/s503-"), httpGet("/s302-"), httpGet("/s401-"), httpGet("/s502-"), httpGet("/off/s404-"),
				httpGet("/none/s404-"), httpGet("/two/s404-"), httpGet("/two/s404-1"), httpGet("/chain/s404-"), httpGet("/dead/x"), httpGet("/missing/s404-"),
				"HEAD /s404-1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
			headers: []string{"X-Peer", "X-A", "Content-Length", "Content-Type", "WWW-Authenticate", "Connection"},
		},
		say: map[string]string{
			"s404-": "HTTP/1.1 404 Nope\r\nContent-Length: 4\r\nX-A: four\r\n\r\ngone", "s500-": "HTTP/1.1 500 Oops\r\nX-A: five\r\nContent-Length: 100\r\n\r\nhalf",
			"s503-": "HTTP/1.0 503 Busy\r\nX-A: busy\r\n\r\n", "s401-": "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nX-A: auth\r\n\r\n",
			"s502-": "HTTP/1.1 502 Bad\r\nContent-Length: 3\r\nX-A: b\r\n\r\nbad", "s302-": "HTTP/1.1 302 Moved\r\nContent-Length: 0\r\nLocation: http://ITSELF/x\r\nX-A: moved\r\n\r\n",
		},
	}, {
		side: side{
			name: "addresses of an answer",
			http: upstreamLog + front(`set $there RAW1; set $word here;
				location /plain/ { proxy_pass http://RAW1/; }
				location /uri/ { proxy_pass http://RAW1/base/; }
				location /off/ { proxy_pass http://RAW1/; proxy_redirect off; location /off/in/ { proxy_pass http://RAW1/; } }
				location /outer/ { proxy_pass http://RAW1/base/; location /outer/in/ { proxy_pass http://RAW2/; } }
				location /default/ { proxy_pass http://RAW1/base/; proxy_redirect http://other/ /o/; proxy_redirect default; }
				location /pairs/ { proxy_pass http://RAW1/; proxy_redirect http://$there/base/ /$word/; proxy_redirect ~^http://other(/[^/]*) $1/; proxy_redirect ~*^HTTPS://(?<h>[a-z]*) http://$h/$arg_q; proxy_redirect /rel /abs; }
				location /vars/ { proxy_pass http://$there/$uri; }
				location ~ ^/re/(.*)$ { proxy_pass http://RAW1; }
				location = /exact { proxy_pass http://RAW1/; }
				location /empty/ { proxy_pass http://RAW1/; proxy_redirect http://other ""; proxy_redirect / ""; }`),
			raw: []string{httpGet("/plain/base"), httpGet("/plain/other"), httpGet("/plain/rel"), httpGet("/plain/refresh"), httpGet("/plain/both"), httpGet("/uri/base"), httpGet("/uri/root"), httpGet("/uri/refresh"),
				httpGet("/off/base"), httpGet("/off/in/base"), httpGet("/outer/base"), httpGet("/outer/in/base"), httpGet("/default/base"), httpGet("/default/other"),
				httpGet("/pairs/base"), httpGet("/pairs/other"), httpGet("/pairs/secure?q=1"), httpGet("/pairs/rel"), httpGet("/pairs/refresh"), httpGet("/pairs/both"), httpGet("/vars/base"), httpGet("/re/base"),
				httpGet("/exact/base"), httpGet("/exact"), httpGet("/empty/other"), httpGet("/empty/rel"), "GET /uri/base HTTP/1.0\r\n\r\n"},
			headers: []string{"Location", "Refresh", "Content-Length"},
		},
		say: map[string]string{
			"base": "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: http://ITSELF/base/x?y\r\n\r\n", "root": "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: http://ITSELF/\r\n\r\n",
			"other": "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: http://other/a/b\r\n\r\n", "rel": "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: /rel/x\r\n\r\n",
			"secure": "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: https://who/x\r\n\r\n", "refresh": "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nRefresh: 7; URL=http://ITSELF/base/r\r\n\r\n",
			"both": "HTTP/1.1 201 Made\r\nContent-Length: 0\r\nRefresh: 1\r\nLocation: http://other/z\r\n\r\n",
		},
	}, {
		side: side{
			name: "cookies of an answer",
			http: upstreamLog + front(`set $dom example.org; proxy_pass_header Set-Cookie;
				location /domain/ { proxy_pass http://RAW1/; proxy_cookie_domain www.example.org $host; proxy_cookie_domain ~\.?([a-z]+)\.net$ $1.test; proxy_cookie_domain .$dom .new.test; }
				location /path/ { proxy_pass http://RAW1/; proxy_cookie_path /one/ /two/; proxy_cookie_path ~*^/RE/(.*)$ /$1; proxy_cookie_path $arg_p /var; }
				location /all/ { proxy_pass http://RAW1/; proxy_cookie_domain example.org e; proxy_cookie_path / /p/; proxy_cookie_flags ~ secure httponly samesite=strict; }
				location /all/off/ { proxy_cookie_domain off; proxy_cookie_path off; proxy_cookie_flags off; proxy_pass http://RAW1/; }
				location /flags1/ { proxy_pass http://RAW1/; proxy_cookie_flags a secure nosecure samesite=lax; proxy_cookie_flags ~^B$ httponly; }
				location /flags2/ { proxy_pass http://RAW1/; proxy_cookie_flags A nosecure nohttponly nosamesite; }
				location /flags3/ { proxy_pass http://RAW1/; proxy_cookie_flags ~ samesite=lax samesite=strict bogus; }
				location /flags4/ { proxy_pass http://RAW1/; proxy_cookie_flags $arg_c $arg_f httponly; }`),
			raw: []string{httpGet("/domain/c"), httpGet("/path/c?p=/v"), httpGet("/all/c"), httpGet("/all/off/c"), httpGet("/flags1/c"), httpGet("/flags2/c"), httpGet("/flags3/c"), httpGet("/flags4/c?c=a&f=secure"),
				httpGet("/flags4/c?c=b&f=SameSite=None"), httpGet("/domain/odd"), httpGet("/path/odd"), httpGet("/all/odd")},
			headers: []string{"Set-Cookie"},
		},
		say: map[string]string{
			"c": "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=1; domain=www.example.org; path=/one/x; Secure; HttpOnly; SameSite=None\r\nSet-Cookie: b=2;Path=/re/it ; Domain = .Example.org\r\n" +
				"Set-Cookie: c; path=/one/\r\nSet-Cookie: d=4; domain=Foo.NET; path=/v/w; samesite\r\nSet-Cookie: e=5\r\n\r\n",
			"odd": "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=b=c; ; domain=; path; PATH=/one/ ; domain=.example.org; expires=Thu, 01 Jan 1970 00:00:00 GMT\r\nSet-Cookie: =x; path=/\r\nSet-Cookie: \r\nSet-Cookie: y = z ;path = /one/;;\r\n\r\n",
		},
	}, {
		side: side{
			name: "header fields of an answer",
			http: upstreamLog + front(`proxy_hide_header X-One;
				location / { proxy_pass http://RAW1; }
				location /hide/ { proxy_pass http://RAW1; proxy_hide_header x-two; proxy_hide_header Content-Type; proxy_hide_header Set-Cookie; proxy_hide_header Location; proxy_hide_header Content-Length; }
				location /pass/ { proxy_pass http://RAW1; proxy_pass_header Date; proxy_pass_header server; proxy_pass_header X-Accel-Expires; proxy_pass_header X-Accel-Limit-Rate; proxy_pass_header X-One; proxy_pass_header Connection; }
				location /ignore/ { proxy_pass http://RAW1; proxy_ignore_headers X-Accel-Limit-Rate X-Accel-Redirect X-Accel-Charset Set-Cookie; proxy_pass_header X-Accel-Redirect; add_header X-Rate $limit_rate; }
				location /there { return 200 "there $upstream_http_x_one\n"; }
				location /head/ { proxy_pass http://RAW1; proxy_method GET; } location /get/ { proxy_pass http://RAW1; proxy_method head; }`),
			raw: []string{httpGet("/many"), httpGet("/hide/many"), httpGet("/pass/many"), httpGet("/accel"), httpGet("/ignore/accel"), httpGet("/hide/accel"), httpGet("/charset"), httpGet("/ignore/charset"),
				"HEAD /head/many HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", httpGet("/get/bare")},
			headers: []string{"Content-Type", "Content-Length", "X-One", "X-Two", "X-Three", "Set-Cookie", "Location", "X-Accel-Expires", "X-Accel-Limit-Rate", "X-Accel-Redirect", "X-Accel-Foo", "X-Pad", "Keep-Alive", "Trailer",
				"Status", "Link", "Transfer-Encoding", "Connection", "X-Rate", "ETag", "Expires", "Last-Modified", "Upgrade", "Proxy-Connection"},
		},
		say: map[string]string{
			"many": "HTTP/1.1 200 Fine\r\nDate: then\r\nServer: backend\r\nX-Pad: p\r\nX-One: 1\r\nX-Two: 2\r\nX-Three: 3\r\nX-TWO: 22\r\nContent-Type: text/x; charset=y\r\nX-Accel-Expires: 0\r\nX-Accel-Limit-Rate: 1000000\r\n" +
				"X-Accel-Foo: f\r\nX-Accel-Buffering: yes\r\nKeep-Alive: k\r\nTrailer: t\r\nStatus: 201\r\nLink: a\r\nLink: b\r\nUpgrade: u\r\nProxy-Connection: z\r\nLocation: /x\r\nSet-Cookie: a=1\r\nETag: \"e\"\r\nLast-Modified: x\r\nContent-Length: 5\r\n\r\nabcde",
			"accel":   "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX-Accel-Redirect: /there\r\nX-Accel-Limit-Rate: 70000\r\nLocation: /x\r\nExpires: never\r\nX-One: up\r\nContent-Length: 4\r\n\r\nbody",
			"charset": "HTTP/1.1 200 OK\r\nX-Accel-Charset: koi8-r\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\nbody",
			"bare":    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
		},
	}, requestSide(), bodySide(), {
		side: side{
			name: "proxy_pass in if and limit_except",
			http: upstreamLog + front(`
				location /in/ { proxy_pass http://RAW1/base/; proxy_set_header X-A a; proxy_hide_header X-Peer; proxy_redirect default;
					if ($arg_to = two) { proxy_pass http://RAW2; } if ($arg_to = none) { set $x 1; } if ($arg_to = var) { proxy_pass http://$arg_h; } }
				location /only/ { limit_except GET { proxy_pass http://RAW2; } proxy_pass http://RAW1/to/; }
				location /files/ { if ($request_method = POST) { proxy_pass http://RAW2; } root html; }
				location ~ ^/re/(.*) { if ($arg_to) { proxy_pass http://RAW2; } proxy_pass http://RAW1; proxy_set_header X-Tail $1; }`),
			files:   map[string]string{"html/files/a": "file\n"},
			headers: []string{"X-Peer", "Location", "X-A"},
			raw: []string{httpGet("/in/x"), httpGet("/in/x?to=two"), httpGet("/in/x?to=none"), httpGet("/in/x?to=var&h=RAW1"), httpGet("/in/base"), httpGet("/in/base?to=two"), httpGet("/in/base?to=none"),
				httpGet("/only/x"), "PUT /only/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", httpGet("/files/a"), "POST /files/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
				httpGet("/re/a"), httpGet("/re/b?to=1"), httpGet("/re/base?to=1")},
		},
		say: map[string]string{"base": "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: http://ITSELF/base/x?y\r\n\r\n"},
	}, keptSide(), upgradeSide(), {
		side: side{
			name: "connections that fail and addresses that lead nowhere",
			http: upstreamLog + `upstream Named { server RAW1; } upstream down { server RAW1 down; } upstream down2 { server RAW1 down; server RAW2 down; }
			upstream bound { server RAW1; server RAW2; }` + front(`
				location /var { proxy_pass http://$arg_h; } location /varuri { proxy_pass http://$arg_h/x$uri?$args; } location /static { proxy_pass http://localhost:1; }
				location /down { proxy_pass http://down; } location /down2 { proxy_pass http://down2; }
				location /refused { proxy_pass http://127.0.0.1:1; } location /unix { proxy_pass http://unix:/nonexistent/s:/x; }
				location /bind { proxy_pass http://RAW1; proxy_bind 127.0.0.5; } location /bindvar { proxy_pass http://RAW1; proxy_bind $arg_b; } location /bindbad { proxy_pass http://bound; proxy_bind 192.0.2.77; }
				location /bindoff { proxy_pass http://RAW1; proxy_bind off; proxy_socket_keepalive on; } location /bind6 { proxy_pass http://RAW1; proxy_bind ::1; }
				location /up/ { proxy_pass http://RAW1; proxy_connect_timeout 2s; } location /timeout/ { proxy_pass http://RAW1; proxy_read_timeout 200ms; }`),
			raw: []string{httpGet("/var?h=RAW"), httpGet("/var?h=named"), httpGet("/var?h=NAMED/uri"), httpGet("/var?h=named:80"), httpGet("/var?h=nonesuch.invalid"), httpGet("/var?h=nonesuch.invalid:81/x"), httpGet("/var?h=127.0.0.1:1"),
				httpGet("/var?h=localhost:1"), httpGet("/var?h=127.0.0.1:x"), httpGet("/var?h="), httpGet("/var"), httpGet("/varuri?h=named"), httpGet("/static"), httpGet("/down"), httpGet("/down2"), httpGet("/refused"), httpGet("/unix"),
				httpGet("/bind"), httpGet("/bindvar?b=127.0.0.6"), httpGet("/bindvar?b=bogus"), httpGet("/bindvar"), httpGet("/bindvar?b=192.0.2.78"), httpGet("/bindbad"), httpGet("/bindoff"), httpGet("/bind6"),
				httpGet("/up/drop"), httpGet("/up/reset"), httpGet("/up/short"), httpGet("/up/chunk"), httpGet("/timeout/hang"), httpGet("/up/long")},
			headers: []string{"Content-Type", "Connection"},
		},
		say: map[string]string{
			"short": "HTTP/1.0 200 OK\r\nContent-Length: 100\r\n\r\nabc", "chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nX: v\r\n\r\n",
			"long": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabcdef",
		},
	}}
}

// requestSide is what upstreams get to see.
func requestSide() proxied {
	post := func(path string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Client: c\r\nContent-Type: t\r\nContent-Length: 5\r\n\r\nhello"
	}
	chunked := func(path string) string {
		return "PUT " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
	}
	return proxied{side: side{
		name: "what upstreams get",
		http: upstreamLog + front(`
			location /method { proxy_pass http://RAW1; proxy_method PUT; } location /methodvar { proxy_pass http://RAW1; proxy_method $arg_m; }
			location /body { proxy_pass http://RAW1; proxy_set_body "own $arg_x"; } location /emptybody { proxy_pass http://RAW1; proxy_set_body ""; } location /body11 { proxy_pass http://RAW1; proxy_set_body $request_method; proxy_http_version 1.1; }
			location /nobody { proxy_pass http://RAW1; proxy_pass_request_body off; } location /nolength { proxy_pass http://RAW1; proxy_pass_request_body off; proxy_set_header Content-Length ""; }
			location /noheaders { proxy_pass http://RAW1; proxy_pass_request_headers off; } location /ownheaders { proxy_pass http://RAW1; proxy_pass_request_headers off; proxy_set_header X-Own $host; proxy_set_header Host $http_host; }
			location /nothing { proxy_pass http://RAW1; proxy_pass_request_headers off; proxy_pass_request_body off; proxy_method GET; }`),
		raw: []string{httpGet("/method"), post("/method"), httpGet("/methodvar?m=patch"), httpGet("/methodvar"), httpGet("/body?x=1"), post("/body?x=2"), chunked("/body"), httpGet("/emptybody"), post("/emptybody"), post("/body11"), chunked("/body11"),
			httpGet("/nobody"), post("/nobody"), chunked("/nobody"), post("/nolength"), chunked("/nolength"), httpGet("/noheaders"), post("/noheaders"), chunked("/noheaders"), post("/ownheaders"), post("/nothing")},
	}}
}

// bodySide is bodies that go to one upstream after another.
func bodySide() proxied {
	post := func(target, framing, body string) string {
		return "POST " + target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + framing + "\r\n\r\n" + body
	}
	p := proxied{side: side{
		name: "bodies that go on to another upstream",
		http: upstreamLog + `upstream two { server RAW1 max_fails=0; server RAW2 max_fails=0; }` + front(`
			location / { proxy_pass http://two; proxy_next_upstream error http_503 non_idempotent; }
			location /named/ { proxy_pass http://RAW1; error_page 502 404 = @other; proxy_intercept_errors on; }
			location /path/ { proxy_pass http://RAW1; error_page 502 404 = /other/ok; proxy_intercept_errors on; }
			location /own/ { proxy_pass http://RAW1; proxy_set_body first; error_page 502 = @other; }
			location @other { proxy_pass http://RAW2; proxy_set_header X-Length $content_length; }
			location /other/ { proxy_pass http://RAW2; }
			location /11/ { proxy_pass http://two; proxy_http_version 1.1; proxy_next_upstream error non_idempotent; }`),
		headers: []string{"X-Peer", "Content-Length"},
	}, say: map[string]string{"s404-": "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", "s503-": "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"}}
	for _, path := range []string{"/drop1", "/drop2", "/s503-1", "/s503-2", "/named/drop", "/named/s404-", "/path/drop", "/path/s404-1", "/own/drop1", "/own/drop2", "/11/drop1", "/11/drop2"} {
		p.raw = append(p.raw, post(path, "Content-Length: 5", "hello"), post(path, "Transfer-Encoding: chunked", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"))
	}
	return p
}

// keptSide is connections to upstreams that carry several requests. The pauses let a closed one be noticed.
func keptSide() proxied {
	const pause = "60ms"
	p := proxied{side: side{
		name: "kept connections to upstreams",
		http: upstreamLog + `upstream a { server RAW1; keepalive 2; keepalive_requests 3; } upstream b { server RAW1 max_fails=0; server RAW2 max_fails=0; keepalive 1; }
			upstream c { server RAW2; keepalive 2; keepalive_timeout 100ms; } upstream d { server RAW1; keepalive 2; keepalive_time 1ms; } upstream e { server RAW1; keepalive 2; } upstream f { server RAW2; }` +
			front(`proxy_http_version 1.1; proxy_set_header Connection ""; location /a/ { proxy_pass http://a; } location /b/ { proxy_pass http://b; } location /c/ { proxy_pass http://c; }
			location /d/ { proxy_pass http://d; } location /e/ { proxy_pass http://e; proxy_next_upstream off; } location /f/ { proxy_pass http://f; } location /ten/ { proxy_pass http://e; proxy_http_version 1.0; }`),
		headers: []string{"X-Peer"},
	}, say: map[string]string{"closing": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "unasked": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxMORE", "s404": "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"}}
	for _, path := range strings.Fields("/a/1x /a/2x /a/3x /a/4x /a/closing /a/5x /a/6x /a/drop /a/7x /b/1x /b/2x /b/3x /b/drop1 /b/4x /c/1x 900ms /c/2x /c/3x /d/late /d/late /e/1x /e/drop /e/2x /e/unasked /e/3x /e/s404 /e/4x /f/1x /f/2x /ten/x /ten/y") {
		if path[0] == '/' {
			p.raw = append(p.raw, httpGet(path), pause)
			continue
		}
		p.raw = append(p.raw, path)
	}
	return p
}

// upgradeSide is connections that leave HTTP.
func upgradeSide() proxied {
	upgrade := func(path, behind string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + behind
	}
	return proxied{side: side{
		name: "upgrades",
		http: upstreamLog + front(`keepalive_timeout 0; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; proxy_hide_header X-Hide; proxy_redirect http://a/ /b/;
			location / { proxy_pass http://RAW1; } location /intercept/ { proxy_pass http://RAW1; proxy_intercept_errors on; error_page 403 /page; } location /page { return 200 page; }`),
		raw:     []string{upgrade("/ws", "ping"), upgrade("/eager", "ping"), upgrade("/ws", ""), upgrade("/refuse", ""), upgrade("/intercept/refuse", "")},
		headers: []string{"Upgrade", "Connection", "X-Hide", "X-Show", "Location", "Content-Length", "Transfer-Encoding"},
	}, say: map[string]string{
		"ws":     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Hide: h\r\nX-Show: s\r\nLocation: http://a/x\r\n\r\n",
		"eager":  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfirst ",
		"refuse": "HTTP/1.1 403 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno",
	}}
}
