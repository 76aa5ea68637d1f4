// tusd as a library: uploads by tus into the folder in its first argument. It says where it listens.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/tus/tusd/v2/pkg/filestore"
	tusd "github.com/tus/tusd/v2/pkg/handler"
)

func main() {
	composer := tusd.NewStoreComposer()
	filestore.New(os.Args[1]).UseIn(composer)
	handler, err := tusd.NewHandler(tusd.Config{BasePath: "/files/", StoreComposer: composer})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ready http://%s\n", listener.Addr())
	http.Handle("/files/", http.StripPrefix("/files/", handler))
	log.Fatal(http.Serve(listener, nil))
}
