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
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const concerned = !topics || part.dataset.live.split(" ").some((topic) => topics.includes(topic));
      const next = fresh.getElementById(part.id);
      if (concerned && next && !isUsed(part) && next.innerHTML !== part.innerHTML) {
        part.replaceChildren(...next.childNodes);
      }
    }
  } catch {
    lost.hidden = false;
  } finally {
    refreshing = false;
    if (again) {
      again = false;
      setTimeout(refresh, 500);
    }
  }
}

function isUsed(part) {
  const active = document.activeElement;
  const isEdited = part.contains(active) && active !== part && active.matches("input, select, textarea, button, summary");
  return isEdited || part.querySelector("details[open]") !== null || !getSelection().isCollapsed && part.contains(getSelection().anchorNode);
}

if (document.querySelector("[data-live]")) {
  let wasLost = false;
  const events = new EventSource("/ui/events");
  events.addEventListener("changed", (event) => refresh(event.data.split(" ")));
  events.addEventListener("open", () => {
    lost.hidden = true;
    if (wasLost) refresh();
    wasLost = false;
  });
  events.addEventListener("error", () => {
    lost.hidden = false;
    wasLost = true;
  });
  addEventListener("pagehide", () => events.close());
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
