package k8s

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// manifests are the objects of limitgate.yaml.
type manifests struct {
	conf    corev1.ConfigMap
	deploy  appsv1.Deployment
	service corev1.Service
	budget  policyv1.PodDisruptionBudget
}

// load decodes all objects strictly: a field that the types of Kubernetes do not have is a fault.
func load(t *testing.T) (m manifests) {
	t.Helper()
	text, err := os.ReadFile("limitgate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			t.Fatal(err)
		}
		into := map[string]any{"v1 ConfigMap": &m.conf, "apps/v1 Deployment": &m.deploy, "v1 Service": &m.service, "policy/v1 PodDisruptionBudget": &m.budget}[kind.APIVersion+" "+kind.Kind]
		if into == nil {
			t.Fatalf("an object of %+v", kind)
		}
		if err := yaml.UnmarshalStrict(doc, into); err != nil {
			t.Fatalf("%s: %v", kind.Kind, err)
		}
		seen++
	}
	if seen != 4 {
		t.Fatalf("%d objects, want 4", seen)
	}
	return m
}

func TestObjectsFitTogether(t *testing.T) {
	m := load(t)
	pod := m.deploy.Spec.Template
	for name, selector := range map[string]map[string]string{
		"Deployment": m.deploy.Spec.Selector.MatchLabels, "Service": m.service.Spec.Selector, "PodDisruptionBudget": m.budget.Spec.Selector.MatchLabels,
	} {
		if len(selector) == 0 {
			t.Errorf("%s selects everything", name)
		}
		for k, v := range selector {
			if pod.Labels[k] != v {
				t.Errorf("%s selects %s=%s, the pods have %q", name, k, v, pod.Labels[k])
			}
		}
	}
	c := pod.Spec.Containers[0]
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
		if want := "listen " + strconv.Itoa(int(p.ContainerPort)) + ";"; !strings.Contains(m.conf.Data["nginx.conf"], want) {
			t.Errorf("port %s is %d, and the configuration has no %q", p.Name, p.ContainerPort, want)
		}
	}
	for name, p := range map[string]*corev1.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
		if p == nil || p.HTTPGet == nil || ports[p.HTTPGet.Port.StrVal] == 0 || !strings.Contains(m.conf.Data["nginx.conf"], "location = "+p.HTTPGet.Path+" ") {
			t.Errorf("%s probe: %+v asks for what is not there", name, p)
		}
	}
	if target := m.service.Spec.Ports[0].TargetPort.StrVal; ports[target] == 0 {
		t.Errorf("the Service goes to port %q, which is none of the pods'", target)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
		if v.ConfigMap != nil && v.ConfigMap.Name != m.conf.Name {
			t.Errorf("the volume is of %q, the ConfigMap is %q", v.ConfigMap.Name, m.conf.Name)
		}
	}
	for _, v := range c.VolumeMounts {
		if !volumes[v.Name] {
			t.Errorf("%s is mounted and is no volume", v.Name)
		}
	}
	if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !*pod.Spec.SecurityContext.RunAsNonRoot {
		t.Errorf("the container may more than it needs: %+v", s)
	}
	if int32(m.budget.Spec.MinAvailable.IntValue()) >= *m.deploy.Spec.Replicas {
		t.Error("the budget lets no node be drained")
	}
}

// What is under way when a pod ends has its time: the wait for the endpoints, what the configuration lets requests have, and some rest.
func TestGraceFitsTheConfiguration(t *testing.T) {
	m := load(t)
	pod := m.deploy.Spec.Template.Spec
	_, rest, found := strings.Cut(m.conf.Data["nginx.conf"], "worker_shutdown_timeout ")
	text, _, _ := strings.Cut(rest, ";")
	shutdown, err := time.ParseDuration(text)
	if !found || err != nil {
		t.Fatalf("worker_shutdown_timeout: %q, %v", text, err)
	}
	wait := time.Duration(pod.Containers[0].Lifecycle.PreStop.Sleep.Seconds) * time.Second
	if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace < wait+shutdown+2*time.Second {
		t.Errorf("a pod has %v to end, and takes up to %v", grace, wait+shutdown)
	}
	docker, err := os.ReadFile("../docker/Dockerfile")
	if err != nil || !strings.Contains(string(docker), "\nSTOPSIGNAL SIGQUIT\n") {
		t.Errorf("the image does not stop with QUIT: %v", err)
	}
}

// The configuration of the ConfigMap is one that limitgate takes, and finds nothing wrong with.
func TestConfigurationIsGood(t *testing.T) {
	m := load(t)
	dir := t.TempDir()
	binary := filepath.Join(dir, "limitgate")
	build := exec.Command("go", "build", "-o", binary, "./cmd/limitgate")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(m.conf.Data["nginx.conf"]), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-t", "-q", "-c", conf}, {"check", "--strict", conf}} {
		if out, err := exec.Command(binary, args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
}
