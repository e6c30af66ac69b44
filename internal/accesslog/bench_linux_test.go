package accesslog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// combinedLog makes a log of about 221 bytes a line, as busy sites have it.
func combinedLog(lines int) []byte {
	var b bytes.Buffer
	at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	agents := []string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2 Mobile/15E148",
		"curl/8.5.0",
	}
	for i := range lines {
		h := uint32(i) * 2654435761
		fmt.Fprintf(&b, "203.0.%d.%d - - [%s] \"GET /shop/items/%d?page=%d&sort=name HTTP/1.1\" 200 %d \"https://www.example.com/shop/list\" \"%s\"\n",
			h>>24&63, h>>16&255, at.Add(time.Duration(i)*time.Millisecond).Format("02/Jan/2006:15:04:05 -0700"), h&0xffff, i%50, h>>8&0x7fff, agents[i%5%3])
	}
	return b.Bytes()
}

// cpu is the time that the processors have worked for this process: on a machine that others use, it says more than a clock.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// splitFields is the loop that replay is measured by: it splits lines into fields at blanks, quotes and brackets, and does
// nothing with them.
func splitFields(line []byte, fields [][]byte) [][]byte {
	fields = fields[:0]
	for i := 0; i < len(line); {
		end := byte(' ')
		switch line[i] {
		case ' ':
			i++
			continue
		case '"':
			end = '"'
			i++
		case '[':
			end = ']'
			i++
		}
		n := bytes.IndexByte(line[i:], end)
		if n < 0 {
			n = len(line) - i
		}
		fields = append(fields, line[i:i+n])
		i += n + 1
	}
	return fields
}

func benchmarkParse(b *testing.B, f *Format, data []byte) {
	lines := bytes.Count(data, []byte("\n"))
	blk := newBlock()
	blk.format = f
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		blk.data = append(blk.data[:0], data...)
		blk.parse()
		if blk.malformed > 0 {
			b.Fatal(blk.examples)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/float64(lines), "cpu-ns/line")
}

func BenchmarkParseCombined(b *testing.B) {
	f, err := ParseFormat("combined", 0)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkParse(b, f, combinedLog(600))
}

func BenchmarkSplitCombined(b *testing.B) {
	data := combinedLog(600)
	fields := make([][]byte, 0, 20)
	sum := 0
	before := cpu(b)
	for b.Loop() {
		for rest := data; len(rest) > 0; {
			n := bytes.IndexByte(rest, '\n')
			fields = splitFields(rest[:n], fields)
			sum += len(fields)
			rest = rest[n+1:]
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/600, "cpu-ns/line")
}

func BenchmarkRead(b *testing.B) {
	const lines = 200000
	name := filepath.Join(b.TempDir(), "access.log")
	if err := os.WriteFile(name, combinedLog(lines), 0o600); err != nil {
		b.Fatal(err)
	}
	before := cpu(b)
	for b.Loop() {
		r, err := Open([]string{name}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			batch, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			n += len(batch.Records)
		}
		if n != lines {
			b.Fatalf("got %d records, want %d: %v", n, lines, r.Sources()[0].Examples)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/lines, "cpu-ns/line")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
}
