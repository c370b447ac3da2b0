module github.com/braidrun/braid

go 1.26.0
