package password

import (
	"errors"
	"testing"
)

// The hashes were made by crypt(3) of libxcrypt 4.4, openssl passwd and htpasswd.
func TestMatches(t *testing.T) {
	const long = "a very long password that does not fit into any block whatever its size may be: 0123456789"
	for _, c := range []struct{ password, hash string }{
		{"", "abmF1QH4PEr.E"},
		{"a", "abxxB7HlIeckU"},
		{"password", "abJnggxhB/yWI"},
		{long, "abMZ2eiG/I/wg"},
		{"", "./Una9Fi.seRo"},
		{"a", "./xT2u5QYaHcU"},
		{"password", "./xZjzHv5vzVE"},
		{long, "./NtsBnlOC3eY"},
		{"", "zZO7u0HfQST3A"},
		{"a", "zZ/Dc0K.bMxrQ"},
		{"password", "zZDDIZ0NOlPzw"},
		{long, "zZOamkzit.WA."},
		{"", "$1$saltsalt$5Jhcit4zN9UlGiA0txPkO0"},
		{"a", "$1$saltsalt$MzDjbImyzEz2m0NTiPzNW/"},
		{"password", "$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/"},
		{long, "$1$saltsalt$mk1SmXe16rAu9Qd.QfkoB."},
		{"", "$5$saltstring$FdNfA4gXqvCeO6iZs7G/.wwwoywYZqo0l1pwmfWaBA7"},
		{"a", "$5$saltstring$7cz4bTeQ7MnNssphNhFVrITtuJYY/1tdvLL2uzLvOk8"},
		{"password", "$5$saltstring$OH4IDuTlsuTYPdED1gsuiRMyTAwNlRWyA6Xr3I4/dQ5"},
		{long, "$5$saltstring$h76zKkIq2wiv529l5OIBVlGeQzQWuSchHL1TNk0BRn7"},
		{"", "$5$rounds=1400$anotherlongsalts$7IcTVudmZDHdXM3GIn4KAxA5tvn.eciiARdqRBeqNs/"},
		{"a", "$5$rounds=1400$anotherlongsalts$Iq0dhoYfyGnDVwSUpmuNlZyLKva/p4Sd1frSpizk2oD"},
		{"password", "$5$rounds=1400$anotherlongsalts$87EGYaZ5e.A4qxHNIAtpTOXMHgQkTK7HhX2JU8P.n.A"},
		{long, "$5$rounds=1400$anotherlongsalts$rbHrqTmNbPudHGdnkyOvppWR2gPFmMPyl8sz2J/B3k0"},
		{"", "$6$saltstring$kyGrqt6gmjAdtFLPrflEFifSYLCWWq1pyx95SvqinLDy2UHmj0sTF0MSLMwxPFZc3tu5kQckI8fks0zOPda3n1"},
		{"a", "$6$saltstring$MO53nAXQUKXVLlsbiXyPgMsR6q10N7eF7sPvanwdXnEeCj5kE3eYaRvFv0wVW1UZ4SnNTzc1v4OCOq1ASDQZY0"},
		{"password", "$6$saltstring$adDbXsJjcDlq2662QPgd.tkSOVmnG9Tt3oXl4HR60SusC3AGjirnDenVZp3DGwLwqy6iYKCzannhaX9DR72nN1"},
		{long, "$6$saltstring$nq1Q0a3MWUFdFdjpL.MfrTiEGyJPKYNEjn2sULBSVoFu1yqjIWwNlttXsAL7quJGoHXyPYO1oggkjW9sgxsTu/"},
		{"", "$apr1$xyzw$l/iMErG4H68Hd8AXAXSA80"},
		{"a", "$apr1$xyzw$Gj5lwCvmwOZoDold.Cksi."},
		{"password", "$apr1$xyzw$A5sopxgTyTBqHnKYC24RI."},
		{long, "$apr1$xyzw$CtbxE81z.Cl7AsWllhaQp/"},
		{"password", "$2y$04$2P8SWAdOemLB7HOgVm8K0uadv75EgGNawkUiKAF00H2iCo0HaphvO"},
		{"password", "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="},
		{"password", "cDRpdxPmHpzS."},
		{"password", "{PLAIN}password"},
		{"", "{PLAIN}"},
		{"password", "{SSHA}yI6cZwQadOA1e+/f+T+H3eCQQhRzYWx0"},
	} {
		if got, err := Matches(c.hash, []byte(c.password)); !got || err != nil {
			t.Errorf("%q of %q: got %v, %v", c.hash, c.password, got, err)
		}
		if got, err := Matches(c.hash, []byte("x"+c.password)); got || err != nil {
			t.Errorf("%q of another password than %q: got %v, %v", c.hash, c.password, got, err)
		}
	}
}

func TestNoHash(t *testing.T) {
	for _, hash := range []string{"", "x", "password", "*0", "!!", "{SSHA}", "{SSHA}!", "{SSHA}YWJj", "$1$", "$apr1$", "$5$", "$6$rounds=x$", "$2y$", "$2y$04$short", "{OTHER}x"} {
		if got, err := Matches(hash, []byte("password")); got || err != nil {
			t.Errorf("%q: got %v, %v; want no match", hash, got, err)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, hash := range []string{"$y$j9T$salt$hash", "$7$x", "$", "$sha1$x"} {
		if got, err := Matches(hash, []byte("password")); got || !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: got %v, %v; want %v", hash, got, err, ErrUnknown)
		}
	}
}
