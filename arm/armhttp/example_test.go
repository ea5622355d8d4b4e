package armhttp_test

import (
	"log"
	"net/http"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/arm/armhttp"
)

// A server and a client.
func Example() {
	app := arm.NewApplication("Bank")
	account := func(http.ResponseWriter, *http.Request) {}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /accounts/{id}", account)
	handler := armhttp.Handler(app, mux)

	client := &http.Client{Transport: armhttp.Transport(app, nil)}

	go http.ListenAndServe("localhost:8080", handler)
	client.Get("http://localhost:8080/accounts/1")
}

func ExampleHandler() {
	app := arm.NewApplication("Bank")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /accounts/{id}", func(w http.ResponseWriter, r *http.Request) {
		// What starts with the request's context is a child of "GET /accounts/{id}".
		defer app.Transaction("Look up").Start(r.Context()).Stop(arm.Good)
	})
	log.Fatal(http.ListenAndServe("localhost:8080", armhttp.Handler(app, mux)))
}

func ExampleTransport() {
	app := arm.NewApplication("Bank")
	client := &http.Client{Transport: armhttp.Transport(app, nil)}
	resp, err := client.Get("http://localhost:8080/accounts/1")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close() // the transaction ends here, at the latest
}

// Behind a router other than ServeMux the program knows the names.
func ExampleNaming() {
	app := arm.NewApplication("Bank")
	name := armhttp.Naming(func(r *http.Request) string {
		if r.URL.Path == "/health" {
			return "" // is not measured
		}
		return r.Method + " page"
	})
	log.Fatal(http.ListenAndServe("localhost:8080", armhttp.Handler(app, http.DefaultServeMux, name)))
}
