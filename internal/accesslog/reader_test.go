package accesslog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/limitgate/limitgate/internal/logformat"
	"github.com/limitgate/limitgate/internal/racing"
)

// line is a line of a common log, so many milliseconds into a day.
func line(at time.Duration, who int) string {
	when := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC).Add(at)
	return fmt.Sprintf("192.0.2.%d - - [%s] \"GET /%d HTTP/1.1\" 200 1 \"-\" \"-\"\n", who, when.Format("02/Jan/2006:15:04:05 -0700"), at/time.Second)
}

func zipped(parts ...string) []byte {
	var b bytes.Buffer
	for _, p := range parts { // each a member of its own, as appending to a packed log makes them
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(p))
		_ = z.Close()
	}
	return b.Bytes()
}

func zstandard(t *testing.T, text string) []byte {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll([]byte(text), nil)
}

// write puts files into a folder of the test and returns their names.
func write(t *testing.T, files ...any) []string {
	t.Helper()
	dir := t.TempDir()
	var names []string
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i].(string))
		var data []byte
		switch f := files[i+1].(type) {
		case string:
			data = []byte(f)
		case []byte:
			data = f
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// uris reads logs and returns the URIs in order.
func uris(t *testing.T, names []string, o Options) ([]string, []*Source) {
	t.Helper()
	r, err := Open(names, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	var got []string
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			if _, err := r.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("behind the end: got %v, want EOF", err)
			}
			return got, r.Sources()
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Records) == 0 || b.Source == nil {
			t.Fatal("an empty batch")
		}
		for _, rec := range b.Records {
			got = append(got, string(rec.URI))
		}
	}
}

// TestMerge: rotated logs, packed in every way and given in any order, come out in the order of time.
func TestMerge(t *testing.T) {
	var want []string
	parts := make([]string, 4)
	for i := range 4000 {
		want = append(want, fmt.Sprintf("/%d", i))
		parts[i/1000] += line(time.Duration(i)*time.Second, 1)
	}
	names := write(t, "access.log", parts[3], "access.log.1", "\xef\xbb\xbf"+parts[2], "access.log.2.gz", zipped(parts[1][:1000], parts[1][1000:]),
		"access.log.3.zst", zstandard(t, parts[0]))
	got, sources := uris(t, names, Options{})
	if !slices.Equal(got, want) {
		t.Errorf("got %d records, want %d in order", len(got), len(want))
	}
	for i, packed := range []string{"", "", "gzip", "zstd"} {
		if s := sources[i]; s.Packed != packed || s.Lines != 1000 || s.Malformed != 0 || s.Broken != nil || s.Format != "combined" || s.Name != names[i] {
			t.Errorf("source %d: got %+v", i, s)
		}
	}
}

// TestMergeOverlapping: logs of several servers interleave, whatever pieces they are read in, and each keeps its own order even
// where it goes back in time.
func TestMergeOverlapping(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	type entry struct{ at, who int }
	var all []entry
	files := make([]any, 0)
	for who := range 5 {
		var text strings.Builder
		at := 0
		for range 3000 {
			at += random.IntN(7)
			all = append(all, entry{at, who})
			text.WriteString(line(time.Duration(at)*time.Second, who))
		}
		files = append(files, fmt.Sprint(who), text.String())
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.at - b.at })
	got, sources := uris(t, write(t, files...), Options{Workers: 3})
	if len(got) != len(all) {
		t.Fatalf("got %d records, want %d", len(got), len(all))
	}
	for i := range got {
		if got[i] != fmt.Sprintf("/%d", all[i].at) {
			t.Fatalf("record %d: got %s, want /%d", i, got[i], all[i].at)
		}
	}
	for _, s := range sources {
		if s.Lines != 3000 {
			t.Errorf("%s: got %d lines, want 3000", s.Name, s.Lines)
		}
	}
	back := line(10*time.Second, 1) + line(9*time.Second, 1) + line(12*time.Second, 1)
	got, _ = uris(t, write(t, "a", back, "b", line(11*time.Second, 2)), Options{})
	if want := []string{"/10", "/9", "/11", "/12"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStandardInput(t *testing.T) {
	text := line(time.Second, 1) + line(3*time.Second, 1)
	files := write(t, "a", line(2*time.Second, 1))
	got, sources := uris(t, []string{"-", files[0]}, Options{Stdin: bytes.NewReader(zipped(text))})
	if want := []string{"/1", "/2", "/3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if s := sources[0]; s.Name != "-" || s.Packed != "gzip" || s.Lines != 2 {
		t.Errorf("got %+v", s)
	}
	long := strings.Repeat(line(0, 1), 5000) // longer than what is looked at before
	if got, _ := uris(t, []string{"-"}, Options{Stdin: strings.NewReader(long)}); len(got) != 5000 {
		t.Errorf("got %d records, want 5000", len(got))
	}
	if _, err := Open([]string{"-", "-"}, Options{Stdin: strings.NewReader("")}); err == nil {
		t.Error("standard input is read twice")
	}
}

func TestMalformedLines(t *testing.T) {
	good := line(0, 1)
	noise := "\x00\x01\xff\xfe\"\x1b[31m" + strings.Repeat("n", 500)
	text := good + "\r\n" + good + noise + "\n\n" + strings.TrimSuffix(good, "\n") + "\r\n" +
		strings.Replace(good, "/Nov/", "/Nov ", 1) + strings.Replace(good, "30/Nov", "99/Nov", 1) +
		"192.0.2.1 - - [30/Nov/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"cut"
	got, sources := uris(t, write(t, "access.log", text), Options{})
	s := sources[0]
	if len(got) != 3 || s.Lines != 7 || s.Malformed != 4 || s.Broken != nil {
		t.Errorf("got %d records of %d lines, %d malformed, %v", len(got), s.Lines, s.Malformed, s.Broken)
	}
	want := []Example{
		{4, `\x00\x01\xff\xfe"\x1b[31m` + strings.Repeat("n", 190) + "...", `no " - " behind $remote_addr`},
		{7, "", `"30/Nov 2026:00:00:00 +0000" can't be $time_local`},
		{8, "", `"99/Nov/2026:00:00:00 +0000" can't be $time_local`},
		{9, "", `it does not end with "\"" behind $http_user_agent`},
	}
	if len(s.Examples) != len(want) {
		t.Fatalf("got %d examples: %v", len(s.Examples), s.Examples)
	}
	for i, w := range want {
		e := s.Examples[i]
		if e.Line != w.Line || e.Why != w.Why || w.Text != "" && e.Text != w.Text {
			t.Errorf("example %d: got %+v, want %+v", i, e, w)
		}
	}
	many := good + strings.Repeat("x\n"+good, 60)
	if _, sources := uris(t, write(t, "x", many), Options{}); sources[0].Malformed != 60 || len(sources[0].Examples) != examples {
		t.Errorf("got %d malformed, %d examples", sources[0].Malformed, len(sources[0].Examples))
	}
}

func TestLongLines(t *testing.T) {
	good := line(0, 1)
	agent := func(n int) string { return strings.Replace(good, `"-"`+"\n", `"`+strings.Repeat("a", n)+`"`+"\n", 1) }
	for _, c := range []struct {
		name      string
		text      string
		records   int
		malformed int64
	}{
		{"longer than a block", good + agent(blockSize+5000) + good, 3, 0},
		{"longer than is read", good + agent(maxLine+300000) + good, 2, 1},
		{"the last one longer than is read", good + strings.TrimSuffix(agent(maxLine+5), "\n"), 1, 1},
		{"much longer than is read", good + agent(5*maxLine) + good + good, 3, 1},
		{"two of them", good + agent(2*maxLine) + agent(2*maxLine) + good, 2, 2},
	} {
		got, sources := uris(t, write(t, "x", c.text), Options{})
		s := sources[0]
		if len(got) != c.records || s.Malformed != c.malformed || s.Lines != int64(c.records)+c.malformed {
			t.Errorf("%s: got %d records, %d malformed of %d lines, want %d, %d", c.name, len(got), s.Malformed, s.Lines, c.records, c.malformed)
		}
		if c.malformed > 0 && s.Examples[0].Why != "it is longer than 1 MiB" {
			t.Errorf("%s: got %q", c.name, s.Examples[0].Why)
		}
	}
}

// TestLinesOfEveryLength: no line is lost or cut where blocks end.
func TestLinesOfEveryLength(t *testing.T) {
	var text strings.Builder
	n := 0
	for text.Len() < 5*blockSize {
		text.WriteString(strings.Replace(line(time.Duration(n)*time.Second, 1), `"-"`+"\n", `"`+strings.Repeat("b", n%997)+`"`+"\n", 1))
		n++
	}
	got, sources := uris(t, write(t, "x", text.String()), Options{Workers: 1})
	if len(got) != n || sources[0].Malformed != 0 {
		t.Fatalf("got %d records, want %d; %d malformed", len(got), n, sources[0].Malformed)
	}
	for i := range got {
		if got[i] != fmt.Sprintf("/%d", i) {
			t.Fatalf("record %d: got %s", i, got[i])
		}
	}
}

func TestBrokenOff(t *testing.T) {
	var text strings.Builder
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 20000 {
		text.WriteString(line(time.Duration(i)*time.Second, random.IntN(250)))
	}
	whole := zipped(text.String())
	zst := zstandard(t, text.String())
	for name, packed := range map[string][]byte{"gzip": whole[:len(whole)/2], "zstd": zst[:len(zst)/2], "trailing": append(slices.Clone(whole), "junk"...),
		"flipped": slices.Concat(whole[:len(whole)/2], []byte{0xff, 0xff, 0xff, 0xff}, whole[len(whole)/2+4:])} {
		got, sources := uris(t, write(t, "x.gz", packed, "y", line(time.Hour, 1)), Options{})
		s := sources[0]
		if s.Broken == nil || !strings.Contains(s.Broken.Error(), "it breaks off behind line") {
			t.Errorf("%s: got %v", name, s.Broken)
		}
		if len(got) < 100 || int64(len(got)) != s.Lines-s.Malformed+1 || s.Malformed > 1 {
			t.Errorf("%s: got %d records, %d lines, %d malformed", name, len(got), s.Lines, s.Malformed)
		}
		if name == "trailing" && len(got) != 20001 {
			t.Errorf("trailing: got %d records", len(got))
		}
	}
	for _, data := range [][]byte{whole[:5], {0x1f, 0x8b}} {
		got, sources := uris(t, write(t, "x.gz", data, "y", line(time.Hour, 1)), Options{})
		if len(got) != 1 || !errors.Is(sources[0].Broken, errTorn) {
			t.Errorf("%x: got %d records, %v", data, len(got), sources[0].Broken)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		file any
		want []string
	}{
		{"unknown", "hello world\nhow are you\n", []string{"of no format that is recognised", `"hello world"`, "combined", "traefik-json", "log_format"}},
		{"a JSON without time", `{"status":200}` + "\n", []string{"of no format that is recognised"}},
		{"xz", []byte("\xfd7zXZ\x00rest"), []string{"packed with xz", "xz -dc"}},
		{"bzip2", []byte("BZh91AY"), []string{"packed with bzip2", "bzip2 -dc"}},
	} {
		name := write(t, "x", c.file)[0]
		_, err := Open([]string{name}, Options{})
		if err == nil {
			t.Errorf("%s: opened", c.name)
			continue
		}
		for _, want := range append(c.want, name) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it", c.name, err, want)
			}
		}
	}
	if _, err := Open([]string{filepath.Join(dir, "none")}, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log that is not there: got %v", err)
	}
	if _, err := Open([]string{dir}, Options{}); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: got %v", err)
	}
	// A given format is not questioned: its lines are malformed.
	f, err := ParseFormat("combined", 0)
	if err != nil {
		t.Fatal(err)
	}
	got, sources := uris(t, write(t, "x", "hello\n"), Options{Format: f})
	if len(got) != 0 || sources[0].Malformed != 1 {
		t.Errorf("got %d records, %+v", len(got), sources[0])
	}
}

func TestEmptyLogs(t *testing.T) {
	names := write(t, "a", "", "b", "\n\n", "c", line(0, 1), "d", zipped(""))
	got, sources := uris(t, names, Options{})
	if len(got) != 1 || sources[0].Format != "" || sources[1].Lines != 0 || sources[2].Lines != 1 || sources[3].Packed != "gzip" {
		t.Errorf("got %d records, %+v", len(got), sources)
	}
	if got, _ := uris(t, nil, Options{}); len(got) != 0 {
		t.Errorf("of no log: got %q", got)
	}
}

// TestCloseEarly: a reader that is closed before its end leaves no goroutine and no file.
func TestCloseEarly(t *testing.T) {
	text := strings.Repeat(line(0, 1), 50000)
	names := write(t, "a", text, "b.gz", zipped(text), "c.zst", zstandard(t, text), "d", line(time.Hour, 1))
	r, err := Open(names, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("of a closed reader: got %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestProgress(t *testing.T) {
	text := strings.Repeat(line(0, 1), 1000)
	packed := zipped(text)
	r, err := Open(write(t, "a", text, "b.gz", packed), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := int64(len(text) + len(packed))
	if read, total := r.Progress(); read != 0 || total != want {
		t.Errorf("before: got %d of %d, want 0 of %d", read, total, want)
	}
	for err == nil {
		_, err = r.Next()
	}
	if read, total := r.Progress(); read != want || total != want {
		t.Errorf("behind: got %d of %d, want all of %d", read, total, want)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r, err = Open([]string{"-"}, Options{Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	if _, total := r.Progress(); total != Unknown {
		t.Errorf("standard input: got a total of %d", total)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBlocksMakeNoGarbage: once its memory has grown a block parses without garbage.
func TestBlocksMakeNoGarbage(t *testing.T) {
	for _, name := range Formats() {
		f, err := ParseFormat(name, 0)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join("testdata", name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		b := newBlock()
		b.format = f
		parse := func() {
			b.data = append(b.data[:0], data...)
			b.parse()
			if b.malformed > 0 {
				t.Fatalf("%s: %v", name, b.examples)
			}
		}
		parse()
		if got := testing.AllocsPerRun(20, parse); got != 0 {
			t.Errorf("%s: got %v allocations, want 0", name, got)
		}
	}
}

// TestFilesWaitTheirTurn: of rotated logs no more are open than overlap.
func TestFilesWaitTheirTurn(t *testing.T) {
	var files []any
	for day := range 20 {
		files = append(files, fmt.Sprint(day), strings.Repeat(line(time.Duration(day)*time.Hour, 1), 100))
	}
	r, err := Open(write(t, files...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			if n != 20 {
				t.Errorf("got %d batches, want one for each file", n)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if open := len(r.active); open > 1 || len(r.waiting) != 19-n {
			t.Fatalf("batch %d: %d logs are open, %d wait", n, open, len(r.waiting))
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// A format that is likely is tried before the ones with names, and gives way to those that fit better.
func TestLikely(t *testing.T) {
	likely, err := ParseFormat(`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_x_key"`, logformat.Default)
	if err != nil {
		t.Fatal(err)
	}
	unfit, err := ParseFormat(`$msec $request`, logformat.Default)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "access.log")
	line := `192.0.2.1 - - [29/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x"` + "\n"
	if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		likely []*Format
		want   string
	}{{nil, "combined"}, {[]*Format{unfit, likely}, likely.Name()}, {[]*Format{unfit}, "combined"}} {
		r, err := Open([]string{name}, Options{Likely: c.likely})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Sources()[0].Format; got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		r.Close()
	}
}

// TestBrokenBeforeAnyText: a packed log that breaks before its first whole line says so, and others beside it are read.
func TestBrokenBeforeAnyText(t *testing.T) {
	whole := zipped(line(0, 1) + line(1, 1))
	corrupt := slices.Clone(whole)
	for i := 10; i < len(corrupt); i++ {
		corrupt[i] = 0xff
	}
	f, err := ParseFormat("combined", 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"zstd": []byte("\x28\xb5\x2f\xfdgarbage of no kind"), "gzip cut": whole[:14], "gzip corrupt": corrupt, "only a head": whole[:10],
	} {
		for _, format := range []*Format{nil, f} {
			got, sources := uris(t, write(t, "x", data, "y", line(time.Hour, 1)), Options{Format: format})
			if len(got) != 1 || !errors.Is(sources[0].Broken, errTorn) || sources[1].Broken != nil {
				t.Errorf("%s: got %d records, %v, %v", name, len(got), sources[0].Broken, sources[1].Broken)
			}
		}
	}
}

// TestLongFirstLine: a format is recognised behind first lines that are longer than what is looked at otherwise, and by them.
func TestLongFirstLine(t *testing.T) {
	racing.Alone(t)
	good := line(0, 1)
	long := strings.Replace(good, `"-"`+"\n", `"`+strings.Repeat("a", 2*sniffed)+`"`+"\n", 1)
	noise := strings.Repeat("n", 3*sniffed) + "\n"
	for _, c := range []struct {
		name, text string
		records    int
		malformed  int64
	}{
		{"of the format", long + good, 2, 0},
		{"the only one", long, 1, 0},
		{"without its end", strings.TrimSuffix(long, "\n"), 1, 0},
		{"noise", noise + good + good, 2, 1},
		{"noise twice", noise + noise + good + good + long, 3, 2},
		{"longer than any line", strings.Repeat("n", 2*maxLine) + "\n" + good, 1, 1},
	} {
		for _, packed := range [][]byte{[]byte(c.text), zipped(c.text)} {
			got, sources := uris(t, write(t, "x", packed), Options{})
			if s := sources[0]; len(got) != c.records || s.Malformed != c.malformed || s.Format != "combined" {
				t.Errorf("%s: got %d records, %d malformed, %s", c.name, len(got), s.Malformed, s.Format)
			}
			got, _ = uris(t, []string{"-"}, Options{Stdin: bytes.NewReader(packed)})
			if len(got) != c.records {
				t.Errorf("%s, standard input: got %d records", c.name, len(got))
			}
		}
	}
	_, err := Open(write(t, "x", strings.Repeat("n", deepest+1)), Options{})
	if err == nil || !strings.Contains(err.Error(), "its first line has more than 4 MiB") {
		t.Errorf("got %v", err)
	}
}

// TestDoubt: where most of the first lines are of no format, the one that fits the others is taken, and the source says so.
func TestDoubt(t *testing.T) {
	record := `{"time":"2026-11-30T00:00:00Z","remote_addr":"192.0.2.1","request_uri":"/a","status":200}` + "\n"
	got, sources := uris(t, write(t, "x", "{\n"+record+"{\"a\"\n"+record+"}\n\"x\n"+record), Options{})
	s := sources[0]
	if len(got) != 3 || s.Malformed != 4 || !strings.HasPrefix(s.Doubt, "only 3 of its first 7 lines are of the format json") || !strings.HasSuffix(s.Doubt, `such as "{"`) {
		t.Errorf("got %d records, %d malformed, %q", len(got), s.Malformed, s.Doubt)
	}
}

// TestManyFilesTakeNoMemory: what waits for its turn and what had it are a few words each, whatever they are packed by.
func TestManyFilesTakeNoMemory(t *testing.T) {
	racing.Alone(t)
	const files = 300
	dir := t.TempDir()
	var names []string
	for day := range files {
		data := zipped(strings.Repeat(line(time.Duration(day)*time.Hour, 1), 550))
		names = append(names, filepath.Join(dir, fmt.Sprintf("access.log.%d.gz", day)))
		if err := os.WriteFile(names[day], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	r, err := Open(names, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		if got := live() - before; got > 4<<20 {
			t.Errorf("%s: got %d bytes for %d files", when, got, files)
		}
	}
	check("waiting")
	for range files {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	check("behind the last batch")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
