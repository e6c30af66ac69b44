package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

// The parts of lines, as a shop has them.
var (
	agents = []string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
		"Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		"curl/8.5.0",
		"-",
	}
	paths    = []string{"/", "/shop/items/", "/shop/search?q=", "/assets/js/app.", "/assets/img/product-", "/api/v1/cart/", "/login", "/blog/2026/"}
	statuses = []int{200, 200, 200, 200, 200, 200, 304, 302, 404, 500}
	methods  = []string{"GET", "GET", "GET", "GET", "POST", "HEAD"}
)

// clients is how many there are; a few of them send most of the requests.
const clients = 60_000

// write writes a log of so many lines in nginx's combined format, of about 221 bytes each. The same seed gives the same log.
func write(name string, lines int, seed uint64) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("making the log: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	r := rand.New(rand.NewPCG(seed, seed))
	some := rand.NewZipf(r, 1.15, 20, clients-1)
	at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	var b []byte
	for range lines {
		at = at.Add(time.Duration(r.ExpFloat64() * float64(4*time.Millisecond)))
		b = line(b[:0], r, some.Uint64(), at)
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("writing the log: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the log: %w", err)
	}
	return f.Close()
}

// line appends one line.
func line(b []byte, r *rand.Rand, client uint64, at time.Time) []byte {
	client *= 2_654_435_761 // neighbours in number are none in address
	b = fmt.Appendf(b, "%d.%d.%d.%d - - [", 11+client>>24%180, client>>16&255, client>>8&255, 1+client%254)
	b = at.AppendFormat(b, "02/Jan/2006:15:04:05 -0700")
	path := paths[r.IntN(len(paths))]
	b = append(append(append(append(b, `] "`...), methods[r.IntN(len(methods))]...), ' '), path...)
	if path != "/" && path != "/login" {
		b = strconv.AppendInt(b, r.Int64N(100_000), 10)
	}
	b = fmt.Appendf(b, " HTTP/1.1\" %d %d \"", statuses[r.IntN(len(statuses))], r.IntN(60_000))
	if r.IntN(4) > 0 {
		b = fmt.Appendf(b, "https://www.example.com%s%d?utm_source=newsletter&page=7", paths[1+r.IntN(len(paths)-1)], r.IntN(100_000))
	} else {
		b = append(b, '-')
	}
	return append(append(append(b, `" "`...), agents[client%uint64(len(agents))]...), "\"\n"...)
}
