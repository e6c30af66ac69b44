package h2

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/limitgate/limitgate/internal/header"
)

func TestWindowKeepsWhatSettingsTake(t *testing.T) {
	w := NewWindow(DefaultWindow)
	if !w.Take(60000) || w.Take(6000) || w.Room() != 5535 {
		t.Errorf("after 60000 of 65535 bytes: room %d", w.Room())
	}
	if !w.Shift(DefaultWindow, 10000) || w.Size() != 5535-55535 || w.Room() != 0 {
		t.Errorf("a smaller beginning left %d", w.Size())
	}
	if !w.Add(50001) || w.Room() != 1 {
		t.Errorf("an update left %d", w.Size())
	}
	if w.Add(MaxWindow) || w.Room() != 1 {
		t.Errorf("an update beyond all bounds left %d", w.Size())
	}
	if w.Shift(0, MaxWindow) || w.Room() != 1 {
		t.Errorf("a beginning beyond all bounds left %d", w.Size())
	}
}

func TestInflowTellsWhenHalfIsUsed(t *testing.T) {
	f := NewInflow(1000)
	if !f.Came(1000) || f.Came(1) {
		t.Error("1000 bytes fit, one more does not")
	}
	if n := f.Used(499); n != 0 {
		t.Errorf("told of %d bytes below the half", n)
	}
	if n := f.Used(1); n != 500 {
		t.Errorf("told of %d bytes, want 500", n)
	}
	if n := f.Grow(4000); n != 3000 || f.Size() != 4000 {
		t.Errorf("grown by %d to %d", n, f.Size())
	}
	if !f.Came(3500) || f.Came(1) {
		t.Error("what was told of is what may come")
	}
	none := NewInflow(0)
	if none.Came(1) {
		t.Error("a closed window let a byte in")
	}
}

func TestSettingsHaveBounds(t *testing.T) {
	for _, c := range []struct {
		id   http2.SettingID
		val  uint32
		want http2.ErrCode
	}{
		{http2.SettingInitialWindowSize, MaxWindow, http2.ErrCodeNo},
		{http2.SettingInitialWindowSize, MaxWindow + 1, http2.ErrCodeFlowControl},
		{http2.SettingMaxFrameSize, MinFrameSize - 1, http2.ErrCodeProtocol},
		{http2.SettingMaxFrameSize, MaxFrameSize, http2.ErrCodeNo},
		{http2.SettingMaxFrameSize, MaxFrameSize + 1, http2.ErrCodeProtocol},
		{http2.SettingEnablePush, 2, http2.ErrCodeProtocol},
		{0xfff, 1 << 31, http2.ErrCodeNo},
	} {
		if got := CheckSetting(http2.Setting{ID: c.id, Val: c.val}); got != c.want {
			t.Errorf("%v = %d: %v, want %v", c.id, c.val, got, c.want)
		}
	}
}

func TestNamesAndValues(t *testing.T) {
	for name, want := range map[string]NameKind{
		"x-foo": Plain, "x_foo": Under, "x/foo": Odd, "X-Foo": Refused, "": Refused, "x:foo": Refused, "x foo": Refused, "x\x02": Refused,
		"x\r\ny": Refused,
	} {
		if got := KindOf(name); got != want {
			t.Errorf("%q is %d, want %d", name, got, want)
		}
	}
	for value, want := range map[string]bool{"": true, "a b\tc": true, "a\r\nb": false, "a\x00": false, "a\nb": false} {
		if got := ValidValue(value); got != want {
			t.Errorf("value %q: %v", value, got)
		}
	}
}

// Whatever is appended, a decoder reads the same.
func TestBlocksReadAsWritten(t *testing.T) {
	long := strings.Repeat("x", 40000)
	fields := []hpack.HeaderField{{Name: "server", Value: "limitgate"}, {Name: "x-Long", Value: long}, {Name: "x-bytes", Value: "\xff\xfe{{{"},
		{Name: "www-authenticate", Value: ""}, {Name: strings.Repeat("n", 300), Value: "v"}}
	block := AppendStatus(nil, 503)
	for _, f := range fields {
		block = AppendField(block, header.Lookup([]byte(f.Name)), f.Name, []byte(f.Value))
	}
	got, err := hpack.NewDecoder(4096, nil).DecodeFull(block)
	if err != nil || len(got) != len(fields)+1 || got[0].Value != "503" {
		t.Fatalf("%v: %v", got, err)
	}
	for i, f := range fields {
		if got[i+1].Name != strings.ToLower(f.Name) || got[i+1].Value != f.Value {
			t.Errorf("field %d: %s", i, got[i+1].Name)
		}
	}
	for _, status := range []int{200, 204, 206, 304, 400, 404, 429, 500} {
		fs, err := hpack.NewDecoder(4096, nil).DecodeFull(AppendStatus(nil, status))
		if err != nil || len(fs) != 1 || fs[0].Name != ":status" || fs[0].Value != string([]byte{byte('0' + status/100), byte('0' + status/10%10), byte('0' + status%10)}) {
			t.Errorf("status %d: %v, %v", status, fs, err)
		}
	}
}

func TestFramesReadAsWritten(t *testing.T) {
	block := bytes.Repeat([]byte{0x88}, MinFrameSize+10)
	out := AppendBlock(nil, block, 5, true, MinFrameSize)
	out = AppendSettings(out, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 128})
	out = AppendSettingsAck(out)
	out = AppendPing(out, true, [8]byte{1, 2})
	out = AppendWindowUpdate(out, 5, 77)
	out = AppendReset(out, 5, http2.ErrCodeCancel)
	out = AppendGoAway(out, 9, http2.ErrCodeEnhanceYourCalm)
	fr := http2.NewFramer(nil, bytes.NewReader(out))
	var seen []string
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			break
		}
		seen = append(seen, f.Header().String())
	}
	want := `[FrameHeader HEADERS flags=END_STREAM stream=5 len=16384]
[FrameHeader CONTINUATION flags=END_HEADERS stream=5 len=10]
[FrameHeader SETTINGS len=6]
[FrameHeader SETTINGS flags=ACK len=0]
[FrameHeader PING flags=ACK len=8]
[FrameHeader WINDOW_UPDATE stream=5 len=4]
[FrameHeader RST_STREAM stream=5 len=4]
[FrameHeader GOAWAY len=8]`
	if got := strings.Join(seen, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
