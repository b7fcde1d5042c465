// Keeps the files of the page, so that it opens without a network once it was loaded. Nothing else is fetched or kept.
"use strict";
const NAME = "fairground-@VERSION@";
const FILES = ["./", "index.html", "common.css", "view.css", "style.css", "module.js", "worker.js", "view.js", "tour.js", "page.js"];

self.addEventListener("install", (event) => {
	event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});
self.addEventListener("activate", (event) => {
	const old = (name) => name.startsWith("fairground-") && name !== NAME;
	event.waitUntil(caches.keys().then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name)))));
});
self.addEventListener("fetch", (event) => {
	event.respondWith(caches.open(NAME).then((cache) => cache.match(event.request, { ignoreSearch: true })).then((kept) => kept ?? fetch(event.request)));
});
