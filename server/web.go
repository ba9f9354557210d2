package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// web serves metrics and health checks over HTTP:
//
//	/metrics       Prometheus
//	/healthz       200 while the node steps its core
//	/readyz        200 while the cluster lets the node serve, else 503 and why
//	/debug/pprof/  profiles, if wanted
type web struct {
	server  *http.Server
	address string
	served  chan struct{}
}

// askTime is how long the core may take to answer a health check.
const askTime = 2 * time.Second

func serveWeb(address string, n *Node, tally *metrics) (*web, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server: cannot listen on %s for HTTP: %w", address, err)
	}
	mux := http.NewServeMux()
	tally.registry.MustRegister(&statusCollector{node: n})
	mux.Handle("GET /metrics", promhttp.HandlerFor(tally.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), askTime)
		defer cancel()
		if err := n.ask(ctx, nothing); err != nil {
			http.Error(w, "the core does not answer: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), askTime)
		defer cancel()
		if ready, why := n.Ready(ctx); !ready {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	if n.cfg.Pprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	w := &web{
		server:  &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second},
		address: listener.Addr().String(), served: make(chan struct{}),
	}
	go func() {
		defer close(w.served)
		_ = w.server.Serve(listener) // ends with close
	}()
	return w, nil
}

func (w *web) close() {
	_ = w.server.Close()
	<-w.served
}
