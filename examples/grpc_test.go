package examples

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// The calls beyond the limit are RESOURCE_EXHAUSTED with a time, streams beyond theirs without one, and the service knows of nothing.
func TestGRPC(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "backend")
	if out, err := exec.Command("go", "build", "-o", program, "./grpc/backend").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conf := strings.NewReplacer("daemon     off;", "", "pid        grpc.pid;", "", "/dev/stdout", "logs/access.log").Replace(read(t, "grpc/nginx.conf", "8080", "50051"))
	g := gatewaytest.Prepare(t, gatewaytest.Limitgate(t), conf)
	backend := exec.Command(program, "-listen", g.Addr(50051))
	if err := backend.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Process.Kill(); _ = backend.Wait() })
	g.Run()
	conn, err := grpc.NewClient("passthrough:///"+g.Addr(8080), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := grpc_health_v1.NewHealthClient(conn)
	gatewaytest.Eventually(t, 10*time.Second, "the backend serves", func() bool {
		_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		return err == nil
	})
	passed, refused := 0, 0
	for range 20 {
		_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		switch s := status.Convert(err); s.Code() {
		case codes.OK:
			passed++
		case codes.ResourceExhausted:
			refused++
			wait := s.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration()
			if wait <= 0 || wait > 200*time.Millisecond {
				t.Errorf("come again in %v", wait)
			}
		default:
			t.Fatal(err)
		}
	}
	if passed > 7 || refused == 0 {
		t.Errorf("%d passed, %d refused", passed, refused)
	}
	for i := range 3 {
		s, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Recv()
		if want := map[bool]codes.Code{true: codes.OK, false: codes.ResourceExhausted}[i < 2]; status.Code(err) != want {
			t.Errorf("stream %d: %v, want %v", i, err, want)
		}
	}
}

// The way back to nginx is open here, too.
func TestGRPCIsValidForNginx(t *testing.T) {
	t.Parallel()
	nginx := gatewaytest.Nginx(t)
	path, err := filepath.Abs("grpc/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(nginx.Path, "-t", "-p", t.TempDir()+"/", "-c", path, "-e", "stderr").CombinedOutput(); err != nil {
		t.Errorf("nginx -t: %v\n%s", err, out)
	}
}
