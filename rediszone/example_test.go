package rediszone_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redis/rueidis"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/rediszone"
)

// One limit for all instances of a service: five logins a second for each address, and ten more at once.
func Example() {
	ctx := context.Background()
	store, err := rediszone.Dial(ctx, rediszone.Options{URL: "redis://127.0.0.1:6379"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	zone, err := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer zone.Close()
	login, err := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5), Burst: 10, NoDelay: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := login.Take(ctx, "192.0.2.7")
	if err != nil {
		fmt.Println("no decision:", err) // the store did not answer; what then, is for the caller to say
		return
	}
	fmt.Println(d.Outcome)
}

// Through TLS, as a user of the server's access lists, whose password is in the environment.
func ExampleDial() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	store, err := rediszone.Dial(ctx, rediszone.Options{
		URL: "rediss://redis.example.com", Username: "limits", Password: os.Getenv("REDIS_PASSWORD"), CAFile: "/etc/ssl/redis.pem",
	})
	if err != nil {
		fmt.Println(err) // tells no password
		return
	}
	defer store.Close()
}

// A client that is there already.
func ExampleNewStore() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	store := rediszone.NewStore("shared", client)
	fmt.Println(store.Name())
}

// nowhere is a store that is never there.
func nowhere() *rediszone.Store {
	store, err := rediszone.Open(rediszone.Options{Name: "shared", URL: "redis://:secret@127.0.0.1:1"})
	if err != nil {
		panic(err)
	}
	return store
}

// Who can't wait for the store goes on without it, and gets errors until it is there.
func ExampleOpen() {
	store, err := rediszone.Open(rediszone.Options{Name: "shared", URL: "redis://:secret@127.0.0.1:1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	zone, _ := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	login, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5)})
	d, err := login.Take(context.Background(), "192.0.2.7")
	fmt.Println(d.Outcome, err != nil)
	// Output: REJECTED true
}

func ExampleStore_Name() {
	store := nowhere()
	defer store.Close()
	fmt.Println(store.Name())
	// Output: shared
}

func ExampleStore_Client() {
	store := nowhere()
	defer store.Close()
	_, err := store.Client()
	fmt.Println(err != nil)
	// Output: true
}

func ExampleStore_Close() {
	store := nowhere()
	store.Close()
	_, err := store.Client()
	fmt.Println(err)
	// Output: store "shared": is closed
}

func ExampleNew() {
	store := nowhere()
	defer store.Close()
	_, err := rediszone.New(rediszone.Config{Store: store, Name: "login", Prefix: "{app}"})
	fmt.Println(err)
	// Output: redis zone "login": prefix "{app}": must have no braces, which belong to the client's key
}

// A zone holds states of one kind, that of the first limit.
func ExampleZone_Bind() {
	store := nowhere()
	defer store.Close()
	zone, _ := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	_, _ = limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5)})
	_, err := limitgate.NewLimiter(zone, limitgate.Token{Rate: limitgate.PerSecond(5), Capacity: 5})
	fmt.Println(zone.Name(), zone.Kind(), err != nil)
	// Output: login req true
}

func ExampleZone_Name() {
	store := nowhere()
	defer store.Close()
	zone, _ := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	fmt.Println(zone.Name())
	// Output: login
}

func ExampleZone_Kind() {
	store := nowhere()
	defer store.Close()
	zone, _ := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	fmt.Println(zone.Kind())
	// Output: none
}

// Another configuration may have another window.
func ExampleZone_Rebind() {
	store := nowhere()
	defer store.Close()
	zone, _ := rediszone.New(rediszone.Config{Store: store, Name: "day"})
	_, _ = limitgate.NewLimiter(zone, limitgate.Count{Limit: 5, Window: time.Hour})
	_, err := limitgate.NewLimiter(zone, limitgate.Count{Limit: 5, Window: time.Minute})
	fmt.Println(err != nil)
	zone.Rebind()
	_, err = limitgate.NewLimiter(zone, limitgate.Count{Limit: 5, Window: time.Minute})
	fmt.Println(err != nil)
	// Output:
	// true
	// false
}

func ExampleZone_Close() {
	store := nowhere()
	defer store.Close()
	zone, _ := rediszone.New(rediszone.Config{Store: store, Name: "uploads"})
	zone.Close()
	_, err := limitgate.NewLimiter(zone, limitgate.Conn{Limit: 3})
	fmt.Println(err)
	// Output: binding a limit to its zone: redis zone "uploads": is closed
}

// The limiters of package limitgate call it; without a store there is no decision.
func ExampleZone_Do() {
	store := nowhere()
	defer store.Close()
	zone, _ := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	login, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5)})
	_, err := login.CheckAt(context.Background(), limitgate.Now(), "192.0.2.7", 1)
	fmt.Println(err != nil)
	// Output: true
}

// What was not charged is nothing to give back.
func ExampleZone_Refund() {
	store := nowhere()
	defer store.Close()
	zone, _ := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	limit := &limitgate.Limit{Kind: limitgate.KindConn}
	fmt.Println(zone.Refund(context.Background(), 0, limit, limitgate.Charge{}))
	// Output: <nil>
}

func ExampleZone_RefundKey() {
	store := nowhere()
	defer store.Close()
	zone, _ := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	limit := &limitgate.Limit{Kind: limitgate.KindReq}
	fmt.Println(zone.RefundKey(context.Background(), 0, limit, "192.0.2.7", limitgate.Charge{}))
	// Output: <nil>
}

// Zones of one store are asked in one go.
func ExampleZone_Joins() {
	store := nowhere()
	defer store.Close()
	login, _ := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	site, _ := rediszone.New(rediszone.Config{Store: store, Name: "site"})
	fmt.Println(login.Joins(site))
	// Output: true
}

func ExampleZone_DoAll() {
	store := nowhere()
	defer store.Close()
	login, _ := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	site, _ := rediszone.New(rediszone.Config{Store: store, Name: "site"})
	a, _ := limitgate.NewLimiter(login, limitgate.Req{Rate: limitgate.PerSecond(5)})
	b, _ := limitgate.NewLimiter(site, limitgate.Token{Rate: limitgate.PerSecond(100), Capacity: 10})
	_, err := limitgate.All(context.Background(), limitgate.Now(), []limitgate.Leg{{Limiter: a, Key: "192.0.2.7"}, {Limiter: b, Key: "all"}})
	fmt.Println(err != nil)
	// Output: true
}

func ExampleOutage() {
	store := nowhere()
	defer store.Close()
	zone, _ := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	login, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5)})
	_, err := login.Take(context.Background(), "192.0.2.7")
	fmt.Println(rediszone.Outage(err), rediszone.Outage(nil))
	// Output: true false
}

func ExampleNewRoster() {
	store := nowhere()
	defer store.Close()
	_, err := rediszone.NewRoster(store, "{app}")
	fmt.Println(err)
	// Output: roster: prefix "{app}": must have no braces, which belong to the client's key
}

func ExampleRoster_Sign() {
	store := nowhere()
	defer store.Close()
	roster, _ := rediszone.NewRoster(store, "")
	names, _, err := roster.Sign(context.Background(), "gateway-1", 10*time.Second)
	fmt.Println(names, err != nil)
	// Output: [] true
}

func ExampleRoster_Leave() {
	store := nowhere()
	defer store.Close()
	roster, _ := rediszone.NewRoster(store, "")
	err := roster.Leave(context.Background(), "gateway-1", 10*time.Second)
	fmt.Println(err != nil) // who misses it will know in ten seconds
	// Output: true
}

func ExampleNewNotes() {
	store := nowhere()
	defer store.Close()
	_, err := rediszone.NewNotes(store, "{app}")
	fmt.Println(err)
	// Output: notes: prefix "{app}": must have no braces, which belong to the client's key
}

func ExampleNotes_Put() {
	store := nowhere()
	defer store.Close()
	notes, _ := rediszone.NewNotes(store, "")
	err := notes.Put(context.Background(), "greeting", "good morning")
	fmt.Println(err != nil)
	// Output: true
}

// All that changes is read once; what can't be read stays as it was.
func ExampleNotes_Read() {
	store := nowhere()
	defer store.Close()
	notes, _ := rediszone.NewNotes(store, "")
	version, changed, err := notes.Read(context.Background(), "7")
	fmt.Println(version, changed == nil, err != nil)
	// Output: 7 true true
}

// What nobody needs any more is taken away only if it still says what it said.
func ExampleNotes_Drop() {
	store := nowhere()
	defer store.Close()
	notes, _ := rediszone.NewNotes(store, "")
	err := notes.Drop(context.Background(), map[string]string{"greeting": "good morning"})
	fmt.Println(err != nil)
	// Output: true
}

func ExampleInspect() {
	store := nowhere()
	defer store.Close()
	servers, err := rediszone.Inspect(context.Background(), store, "")
	fmt.Println(len(servers), err != nil)
	// Output: 0 true
}

func ExampleServer_Evicts() {
	s := rediszone.Server{MaxMemory: 100 << 20, Policy: "allkeys-lru"}
	fmt.Println(s.Evicts())
	// Output: true
}
