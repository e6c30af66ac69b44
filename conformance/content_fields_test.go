package conformance

// fieldContents are about the fields of an answer: expires, add_header, trailers, what is told of the connection; and about
// how a file is found and typed.
var fieldContents = []content{
	{
		name: "expires",
		http: `default_type text/plain; expires 1h; log_format e "$sent_http_cache_control|$sent_http_expires"; access_log off;
		server { listen 127.0.0.1:@8080@; root html; location /epoch/ { alias html/; expires epoch; } location /max/ { alias html/; expires max; } location /off/ { alias html/; expires off; }
			location /zero/ { alias html/; expires 0; } location /neg/ { alias html/; expires -1; } location /mod/ { alias html/; expires modified 1h; } location /far/ { alias html/; expires modified 10y; } location /modzero/ { alias html/; expires modified 0; }
			location /modneg/ { alias html/; expires modified -1d; } location /textmod { expires modified 1h; return 200 x; } location /var/ { alias html/; expires $arg_e; } location /varmod/ { alias html/; expires modified $arg_e; }
			location /fields/ { alias html/; add_header Cache-Control public; add_header cache-control x; add_header Expires own; }
			location /500 { return 500; } location /204 { return 204; } location /302 { return 302 /; } location /404 { return 404 x; } location /201 { return 201 x; }
			location /pass/ { proxy_pass http://127.0.0.1:@8081@/; } location /passmod/ { expires modified +1h; proxy_pass http://127.0.0.1:@8081@/; } location /passoff/ { expires off; proxy_pass http://127.0.0.1:@8081@/; } }
		server { listen 127.0.0.1:@8081@; expires off; root html; location /cc { add_header cache-Control a; add_header X-Between b; add_header Cache-Control c; add_header EXPIRES d; return 200 x; } location /404 { return 404; } }`,
		raw: all(
			each("/a.txt", "", "If-None-Match: *", "Range: bytes=1-2", "Range: bytes=99-", "If-Match: x"), each("/epoch/a.txt", ""), each("/max/a.txt", ""), each("/off/a.txt", ""), each("/zero/a.txt", ""), each("/neg/a.txt", ""),
			each("/mod/a.txt", ""), each("/far/a.txt", ""), each("/modzero/a.txt", ""), each("/modneg/a.txt", ""), each("/textmod", ""),
			each("/var/a.txt", ""), each("/var/a.txt?e=epoch", ""), each("/var/a.txt?e=max", ""), each("/var/a.txt?e=off", ""), each("/var/a.txt?e=1h", ""), each("/var/a.txt?e=-1h", ""), each("/var/a.txt?e=x", ""), each("/var/a.txt?e=0", ""),
			each("/varmod/a.txt?e=1h", ""), each("/varmod/a.txt?e=epoch", ""), each("/varmod/a.txt?e=-1h", ""), each("/varmod/a.txt?e=@1h", ""),
			each("/fields/a.txt", ""), each("/500", ""), each("/204", ""), each("/302", ""), each("/404", ""), each("/201", ""), each("/nothing", ""),
			each("/pass/cc", ""), each("/passmod/cc", ""), each("/passmod/a.txt", ""), each("/passoff/cc", ""), each("/pass/404", ""), each("/pass/a.txt", ""),
			[]string{"HEAD /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
		),
	},
	{
		name: "added fields",
		http: `default_type text/plain; log_format f "$sent_http_x_a|$sent_http_etag|$sent_http_last_modified|$sent_http_cache_control|$sent_http_link|$sent_http_content_type|$sent_http_transfer_encoding|$sent_http_location|$connection_requests";
		access_log logs/access.log f; add_header X-A outer; add_header X-B "$uri $status" always;
		server { listen 127.0.0.1:@8080@; root html; location /own { add_header X-C c; return 200 x; } location /etag/ { alias html/; add_header ETag ""; add_header Last-Modified ""; add_header Cache-Control one; add_header Cache-Control ""; add_header Cache-Control two; }
			location /tag/ { alias html/; add_header etag own; add_header ETag own2; add_header last-modified "` + beforeTree + `"; } location /empty { add_header X-E ""; add_header X-F $arg_f; return 200 x; }
			location /404 { return 404 x; } location /202 { return 202 x; } location /always { add_header X-D d always; return 503; } location /301 { return 301 /x; } location /308 { return 308 http://x/; }
			location /page/ { add_header X-P p; error_page 404 /404.html; } location /eq/ { add_header X-P p; error_page 404 =200 /404.html; } location = /404.html { add_header X-Q q; }
			location /sent { add_header X-S "$sent_http_content_type $sent_http_content_length $sent_http_connection $sent_http_last_modified $sent_http_etag $sent_http_x_r"; add_header X-R "$sent_http_x_s"; alias html/a.txt; }
			location /pass/ { proxy_pass http://127.0.0.1:@8081@/; add_header X-Up "$upstream_status $upstream_http_x_u"; add_header Set-Cookie mine; add_header etag ''; } location /link { add_header Link a; add_header Link b; return 200 x; }
			location /out { add_header X-Out "$connection_requests|"; return 200 x; } }
		server { listen 127.0.0.1:@8081@; root html; access_log off; add_header X-U u; add_header Set-Cookie theirs; location /n { return 204; } }`,
		raw: all(
			each("/a.txt", "", "Range: bytes=99-", "If-Match: x", "If-None-Match: *", "Range: bytes=1-2"), each("/own", ""), each("/etag/a.txt", "", "If-None-Match: *", "If-None-Match: "+tagA, "Range: bytes=1-2|If-Range: "+tagA), each("/tag/a.txt", "", "Range: bytes=1-2|If-Range: "+beforeTree),
			each("/empty", ""), each("/empty?f=f", ""), each("/404", ""), each("/202", ""), each("/always", ""), each("/301", ""), each("/308", ""), each("/page/x", ""), each("/eq/x", "", "If-None-Match: *"), each("/sent", ""), each("/nothing", ""), each("/link", ""), each("/out", ""),
			each("/pass/a.txt", ""), each("/pass/n", ""), each("/pass/nothing", ""), []string{"HEAD /a.txt HTTP/1.0\r\n\r\n", "GET /a.txt HTTP/1.1\r\nHost: h\r\n\r\nGET /nothing HTTP/1.1\r\nHost: h\r\n\r\n", "BAD\r\n\r\n"},
		),
	},
	{
		name: "trailers and chunks",
		http: `default_type text/plain; log_format t "$sent_trailer_x_t|$sent_trailer_x_len|$sent_http_transfer_encoding"; access_log logs/access.log t; add_trailer X-T "$uri $status"; add_trailer X-Always "$sent_trailer_x_t" always; add_trailer X-Empty "";
		server { listen 127.0.0.1:@8080@; root html; location /off/ { alias html/; chunked_transfer_encoding off; } location /gzip/ { alias html/; gzip on; gzip_types *; } location /gzipoff/ { alias html/; gzip on; gzip_types *; chunked_transfer_encoding off; }
			location /return { return 200 text; } location /204 { return 204; } location /304 { return 304; } location /302 { return 302 /; } location /500 { return 500; } location /own { add_trailer X-Own own; return 200 ""; } location /only { add_trailer X-Only "" always; return 200 x; }
			location /pass/ { add_trailer X-Len $upstream_response_length; proxy_pass http://127.0.0.1:@8081@/; } location /passoff/ { chunked_transfer_encoding off; proxy_http_version 1.1; proxy_pass http://127.0.0.1:@8081@/; } }
		server { listen 127.0.0.1:@8081@; access_log off; root html; add_trailer X-Theirs x; }`,
		raw: all(
			each("/a.txt", "", "Range: bytes=1-2", "Range: bytes=1-2,5-6", "If-None-Match: *", "If-Match: x", "TE: trailers"), each("/big.txt", "Range: bytes=100-120"), each("/e", ""), each("/off/a.txt", ""), each("/gzip/p.html", "Accept-Encoding: gzip", ""), each("/gzipoff/p.html", "Accept-Encoding: gzip", ""),
			each("/return", ""), each("/204", ""), each("/304", ""), each("/302", ""), each("/500", ""), each("/own", ""), each("/only", ""), each("/nothing", ""), each("/pass/a.txt", ""), each("/pass/nothing", ""), each("/passoff/a.txt", ""),
			[]string{"GET /a.txt HTTP/1.0\r\n\r\n", "HEAD /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET /a.txt HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET /gzipoff/p.html HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n",
				"GET /a.txt\r\n"},
		),
	},
	{
		name: "connections that are kept",
		http: `default_type text/plain; keepalive_requests 2; log_format k "$connection_requests $request_method $request_completion"; access_log logs/access.log k;
		server { listen 127.0.0.1:@8080@; root html; keepalive_timeout 40ms 9; location /safari { keepalive_disable safari; return 200 x; } location /none { keepalive_disable none; return 200 x; } location /both { keepalive_disable msie6 safari; return 200 x; }
			location /zero { keepalive_timeout 0; return 200 x; } location /one { keepalive_requests 1; return 200 x; } location /r { return 200 x; } location /400 { return 400; } location /500 { return 500; } location /444 { return 444; } }`,
		raw: func() (out []string) {
			for _, path := range []string{"/r", "/safari", "/none", "/both", "/zero", "/one"} {
				for _, agent := range []string{"x", "MSIE 5.0", "Mozilla/4.0 (compatible; MSIE 6.0; Windows)", "MSIE 6.0; SV1", "Mac OS X Safari/7", "Mac OS X Chrome/1 Safari/7", "MSIE 5.0 Opera"} {
					for _, method := range []string{"GET", "POST"} {
						out = append(out, method+" "+path+" HTTP/1.1\r\nHost: h\r\nUser-Agent: "+agent+"\r\nContent-Length: 0\r\n\r\n")
					}
				}
			}
			const again = "GET /r HTTP/1.1\r\nHost: h\r\n\r\n"
			return append(out, again+again+again, "GET /400 HTTP/1.1\r\nHost: h\r\n\r\n"+again, "GET /500 HTTP/1.1\r\nHost: h\r\n\r\n"+again, "GET /404 HTTP/1.1\r\nHost: h\r\n\r\n"+again, "GET /444 HTTP/1.1\r\nHost: h\r\n\r\n"+again,
				"GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"+again, "GET /r HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"+again)
		}(),
	},
	{
		name: "types and indexes",
		http: `types { text/html html htm; text/x-a txt; } default_type application/x-d;
		server { listen 127.0.0.1:@8080@; root html; index index.html; location /types/ { alias html/; types { text/x-b txt; } default_type text/x-dd; } location /css/ { alias html/; types { } default_type text/css; }
			location /one/ { alias html/; types { application/x-c TXT; } } location /return.txt { return 200 x; } location /t/ { default_type "text/html; charset=utf-8"; return 200 x; }
			location /sub/ { index none.html i.html; } location /abs/ { index none /a.txt; } location /first/ { alias html/; index /a.txt index.html; } location /var/ { alias html/sub/; index $arg_i.html; } location /loop/ { index /loop/; } location /args/ { alias html/sub/; index i.html?x; }
			location /noindex/ { alias html/sub/; } location /empty/ { alias html/sub/; index $arg_none i.html; } location /deep/ { alias html/; index sub/i.html; } location = /deny/sub { deny all; } location /post/ { alias html/; error_page 405 =200 $uri; } }`,
		raw: all(each("/a.txt", ""), each("/X.JSON", ""), each("/p.html", ""), each("/e", ""), each("/types/a.txt", ""), each("/types/p.html", ""), each("/css/a.txt", ""), each("/one/a.txt", ""), each("/return.txt", ""), each("/t/a.txt", ""), each("/", ""),
			each("/sub/", ""), each("/sub", ""), each("/sub?a=b", ""), each("/abs/", ""), each("/first/", ""), each("/var/?i=i", ""), each("/var/?i=x", ""), each("/loop/", ""), each("/args/", ""), each("/noindex/", ""), each("/empty/", ""), each("/deep/", ""), each("/a.txt/", ""), each("/none/", ""), each("/%2e./", ""),
			[]string{"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", "POST /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", "PUT /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
				"DELETE / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "POST /post/a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "OPTIONS /a.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"}),
	},
	{
		name: "clients that wait to be told to go on",
		http: `default_type text/plain; lingering_timeout 30ms; client_body_timeout 60ms; server { listen 127.0.0.1:@8080@; root html; location /r { return 200 x; } location /404 { return 404; } location /404t { return 404 x; } location /302 { return 302 /; } location /empty { return 200; } location /204 { return 204; }
			location /deny { deny all; } location /small { client_max_body_size 1; return 200 x; } location /page { error_page 404 = /r; return 404; } location /pass/ { proxy_pass http://127.0.0.1:@8081@/; } location /444 { return 444; } }
		server { listen 127.0.0.1:@8081@; access_log off; location / { return 200 ok; } }`,
		raw: func() (out []string) {
			for _, path := range []string{"/r", "/404", "/404t", "/302", "/empty", "/204", "/deny", "/small", "/page", "/a.txt", "/nothing", "/index.html/", "/sub", "/444"} {
				for _, method := range []string{"GET", "POST"} {
					out = append(out, method+" "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
				}
			}
			return append(out, "GET /r HTTP/1.1\r\nHost: h\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n", "GET /r HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", "POST /r HTTP/1.1\r\nHost: h\r\nConnection: close\r\nExpect: x\r\nContent-Length: 3\r\n\r\n")
		}(),
	},
}
