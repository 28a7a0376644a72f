// Keeps the live parts of the page up to date, and says when the connection is lost.
"use strict";

const lost = document.getElementById("connection");
let refreshing = false;
let again = false;

// Asks for this page again and replaces its live parts, except one that the person is using.
async function refresh(topics) {
  if (refreshing) {
    again = true;
    return;
  }
  refreshing = true;
  try {
    const answer = await fetch(location.href, { headers: { "x-kitbag-refresh": "1" } });
    if (answer.status === 401) {
      location.reload();
      return;
    }
    if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), "text/html"), topics);
  } catch {
    // The stream of events fails, too, and connects again.
  } finally {
    refreshing = false;
    if (again) {
      again = false;
      setTimeout(refresh, 500);
    }
  }
}

function show(fresh, topics) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const concerned = !topics || part.dataset.live.split(" ").some((topic) => topics.includes(topic));
    const next = fresh.getElementById(part.id);
    if (concerned && next && !isUsed(part) && next.innerHTML !== part.innerHTML) {
      part.replaceChildren(...next.childNodes);
    }
  }
  // A gateway that was started again has begun a new session.
  const token = fresh.querySelector("input[name=csrf]");
  if (token) document.querySelectorAll("input[name=csrf]").forEach((field) => (field.value = token.value));
}

function isUsed(part) {
  const active = document.activeElement;
  const isEdited = part.contains(active) && active !== part && active.matches("input, select, textarea, button, summary");
  return isEdited || part.querySelector("details[open]") !== null || !getSelection().isCollapsed && part.contains(getSelection().anchorNode);
}

let events = null;
let isStale = false;

function connect() {
  events = new EventSource("/ui/events");
  events.addEventListener("changed", (event) => refresh(event.data.split(" ")));
  events.addEventListener("open", () => {
    lost.hidden = true;
    if (isStale) refresh();
    isStale = false;
  });
  events.addEventListener("error", () => {
    lost.hidden = false;
    isStale = true;
    // After an answer that is no stream, such as one that asks to sign in, the browser gives up.
    if (events.readyState === EventSource.CLOSED) {
      refresh();
      setTimeout(connectAgain, 3000);
    }
  });
}

function disconnect() {
  events.close();
  isStale = true;
}

function connectAgain() {
  if (!document.hidden && events.readyState === EventSource.CLOSED) connect();
}

if (document.querySelector("[data-live]")) {
  connect();
  // A browser opens six connections to a gateway; pages in the background leave them to others.
  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connectAgain()));
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", (event) => event.persisted && connectAgain());
}

// A select or checkbox of a filter applies at once; its button is for those without a script.
for (const form of document.querySelectorAll("form[data-filter]")) {
  form.addEventListener("change", (event) => {
    if (event.target.matches("select, input[type=checkbox]")) form.requestSubmit();
  });
}

// `/` moves to the search field of the page.
document.addEventListener("keydown", (event) => {
  const field = document.querySelector("input[type=search]");
  const isTyping = event.target.matches("input, textarea, select");
  if (event.key === "/" && field && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    field.focus();
  }
});
