package redact

import (
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf/syntax"
)

// planted is a configuration in which every secret has SECRET in it.
const planted = `
# SECRET in a comment
user www;
worker_processes 2;
events { worker_connections 64; }
env API_KEY=SECRET;
http {
    limit_store main redis://user:SECRET@127.0.0.1:6379/0?auth=SECRET password_env=REDIS timeout=20ms token=SECRET;
    limit_store other redis://:SECRET/SECRET@h:1 password=SECRET password_file=/etc/redis.pass;
    limit_req_zone $binary_remote_addr zone=login:1m rate=5r/s;
    limit_req_zone "SECRET$remote_addr" zone=salted:1m rate=5r/s;
    limit_count_zone $http_x_api_key|$uri zone=keys:1m limit=9 window=1h;
    map $http_x_api_key $tier { default free; SECRET gold; "~^SECRET" silver; }
    geo $who { 10.0.0.0/8 SECRET; }
    split_clients "SECRET$arg_a" $side { 50% SECRET; * b; }
    log_format main "$remote_addr SECRET";
    access_log logs/access.log main;
    proxy_set_header Authorization "Bearer SECRET";
    proxy_set_header X-Key $http_x_key;
    add_header Set-Cookie SECRET always;
    proxy_cookie_path SECRET /;
    server {
        listen 127.0.0.1:8080 backlog=64;
        server_name example.com;
        ssl_certificate certs/a.pem;
        ssl_certificate_key "data:-----BEGIN PRIVATE KEY-----SECRET";
        ssl_session_ticket_key SECRET;
        auth_basic "SECRET realm";
        auth_basic_user_file users;
        if ($http_x_token = "SECRET") { return 403 SECRET; }
        set $token SECRET;
        rewrite ^/SECRET/(.*)$ /$1?SECRET last;
        location /login {
            limit_req zone=login burst=10 nodelay;
            limit_req_status 429;
            proxy_pass http://me:SECRET@backend/path?key=SECRET;
            proxy_read_timeout 5s;
            proxy_set_body SECRET;
            unknown_directive SECRET { SECRET SECRET; }
        }
        location = /m { metrics; }
    }
    otel_exporter { endpoint https://me:SECRET@collector:4317; header authorization "Bearer SECRET"; trusted_certificate SECRET.pem; interval 5s; batch_size 512; batch_count 4; other SECRET; }
    otel_service_name shop; otel_resource_attr deployment SECRET; otel_trace $otel_parent_sampled; otel_span_attr user SECRET; otel_span_name SECRET;
    limit_rollout r { zones login; steps 1% 5%; webhook https://hooks/SECRET; }
}
`

func TestTree(t *testing.T) {
	list, errs := syntax.Parse("nginx.conf", []byte(planted))
	if len(errs) > 0 {
		t.Fatal(errs[0])
	}
	got := syntax.Print(Tree(list))
	for line := range strings.Lines(got) {
		if strings.Contains(line, "SECRET") {
			t.Errorf("a secret is left: %s", line)
		}
	}
	for _, want := range []string{
		"limit_store main redis://***@127.0.0.1:6379/0?*** password_env=REDIS timeout=20ms token=***;",
		"limit_store other redis://***@h:1 password=*** password_file=/etc/redis.pass;",
		"limit_req_zone $binary_remote_addr zone=login:1m rate=5r/s;",
		"limit_req_zone *** zone=salted:1m rate=5r/s;",
		"limit_count_zone $http_x_api_key|$uri zone=keys:1m limit=9 window=1h;",
		"map $http_x_api_key *** {",
		"proxy_set_header Authorization ***;",
		"ssl_certificate ***;",
		"proxy_pass http://***@backend/path?***;",
		"limit_req zone=login burst=10 nodelay;",
		"proxy_read_timeout 5s;",
		"rewrite ***;",
		"if *** {",
		"steps 1% 5%;",
		"webhook ***;",
		"endpoint https://***@collector:4317;",
		"header authorization ***;",
		"batch_size 512;",
		"otel_trace $otel_parent_sampled;",
		"otel_span_attr user ***;",
		"otel_span_name ***;",
		"location /login {",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if again, errs := syntax.Parse("nginx.conf", []byte(got)); len(errs) > 0 || syntax.Print(Tree(again)) == "" {
		t.Errorf("what is left can't be read: %v", errs)
	}
	if !strings.Contains(syntax.Print(list), "SECRET") {
		t.Error("the tree itself was changed")
	}
}

// FuzzTree: what is left of any configuration can be read, has as many directives, and is not changed by doing it again.
func FuzzTree(f *testing.F) {
	f.Add(planted)
	f.Add("map $a $b { default \"\\\"\"; '' x; }\nlog_by_lua_block { a = '}' }\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, errs := syntax.Parse("nginx.conf", []byte(text))
		if len(errs) > 0 {
			return
		}
		once := syntax.Print(Tree(list))
		again, errs := syntax.Parse("nginx.conf", []byte(once))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", once, errs[0])
		}
		if twice := syntax.Print(Tree(again)); twice != once {
			t.Errorf("got\n%s, and again\n%s", once, twice)
		}
	})
}
