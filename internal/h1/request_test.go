package h1

import (
	"strings"
	"testing"
)

// browserHead is a request as browsers send it.
const browserHead = "GET /articles/2026/limits-that-hold?utm_source=feed&page=2 HTTP/1.1\r\n" +
	"Host: www.example.com\r\n" +
	"Connection: keep-alive\r\n" +
	"sec-ch-ua: \"Chromium\";v=\"142\", \"Not_A Brand\";v=\"99\"\r\n" +
	"sec-ch-ua-mobile: ?0\r\n" +
	"sec-ch-ua-platform: \"Linux\"\r\n" +
	"Upgrade-Insecure-Requests: 1\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n" +
	"Sec-Fetch-Site: same-origin\r\n" +
	"Sec-Fetch-Mode: navigate\r\n" +
	"Referer: https://www.example.com/articles/\r\n" +
	"Accept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Accept-Language: en-US,en;q=0.9\r\n" +
	"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=yes\r\n\r\n"

const shortHead = "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: wrk\r\n\r\n"

func TestParseAllocatesNothing(t *testing.T) {
	for _, raw := range []string{browserHead, shortHead, "POST http://Example.com/a/../%41 HTTP/1.1\r\nHost: EXAMPLE.com\r\nContent-Length: 5\r\n\r\n"} {
		b, rules := []byte(raw), &Rules{}
		var r Request
		if n := testing.AllocsPerRun(100, func() {
			r.Reset()
			if ok, err := r.Parse(b[:len(b)-2], rules); ok || err != nil {
				t.Fatal(ok, err)
			}
			if ok, err := r.Parse(b, rules); !ok || err != nil {
				t.Fatal(ok, err)
			}
			r.Host(b)
			r.Path(b)
		}); n != 0 {
			t.Errorf("%q: %v allocations", raw[:20], n)
		}
	}
}

func benchmarkParse(b *testing.B, raw string) {
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	buf, rules := []byte(raw), &Rules{}
	var r Request
	for b.Loop() {
		r.Reset()
		if ok, err := r.Parse(buf, rules); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkParseBrowser(b *testing.B) { benchmarkParse(b, browserHead) }
func BenchmarkParseShort(b *testing.B)   { benchmarkParse(b, shortHead) }
func BenchmarkParseLongCookie(b *testing.B) {
	benchmarkParse(b, strings.Replace(browserHead, "theme=dark", "theme="+strings.Repeat("dark", 512), 1))
}

// BenchmarkParseQuoted needs the path normalised.
func BenchmarkParseQuoted(b *testing.B) {
	benchmarkParse(b, strings.Replace(browserHead, "/articles/2026", "/articles/./%61bc/../2026", 1))
}

// BenchmarkParseDrip gets one byte more a call.
func BenchmarkParseDrip(b *testing.B) {
	buf, rules := []byte(browserHead), &Rules{}
	var r Request
	for b.Loop() {
		r.Reset()
		for n := range len(buf) + 1 {
			if _, err := r.Parse(buf[:n], rules); err != nil {
				b.Fatal(err)
			}
		}
	}
}
