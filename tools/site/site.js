// The table of contents of a page, and the search, without other libraries and
// without the network.
(function () {
  "use strict";

  function link(to, text, parent, classes) {
    const item = document.createElement("a");
    item.href = to;
    item.textContent = text;
    item.className = classes;
    parent.appendChild(item);
    return item;
  }

  // ---- contents

  const contents = document.getElementById("toc");
  if (contents) {
    const list = document.createElement("nav");
    list.className = "nav flex-column";
    let heads = document.querySelectorAll("main h2, main h3");
    if (heads.length > 25) heads = document.querySelectorAll("main h2");
    heads.forEach((head) => {
      const at = head.id || head.parentNode.id;
      if (at) {
        const deep = head.tagName === "H3" ? " ps-4" : "";
        link("#" + at, head.textContent.trim(), list, "nav-link" + deep);
      }
    });
    contents.appendChild(list);
    contents.hidden = list.children.length < 2;
  }

  // ---- search: pages (search.js) are lists of title, address, words

  const input = document.getElementById("search-input");
  if (!input || !window.sitePages) return;
  const root = input.dataset.searchIndex.replace("search.json", "");
  const found = document.createElement("div");
  found.id = "search-results";
  found.className = "list-group";
  found.hidden = true;
  input.parentNode.appendChild(found);
  input.setAttribute("aria-label", "Search");

  // a word in the title counts more than one at the beginning of another word
  function score(page, words) {
    let sum = 0;
    for (const word of words) {
      const title = page[0].toLowerCase();
      const text = page[2];
      if (title === word) sum += 20;
      else if (title.startsWith(word)) sum += 10;
      else if (title.includes(word)) sum += 5;
      else if (text.includes(" " + word)) sum += 1;
      else return 0;
    }
    return sum;
  }

  function show() {
    const words = input.value.toLowerCase().split(/[^a-z0-9_.]+/)
      .filter((word) => word.length > 1);
    found.replaceChildren();
    found.hidden = words.length === 0;
    if (found.hidden) return;
    const best = window.sitePages
      .map((page) => [score(page, words), page])
      .filter((pair) => pair[0] > 0)
      .sort((a, b) => b[0] - a[0] || a[1][0].length - b[1][0].length)
      .slice(0, 12);
    best.forEach((pair) => {
      link(root + pair[1][1], pair[1][0], found,
        "list-group-item list-group-item-action");
    });
    if (best.length === 0) {
      found.textContent = "Nothing found.";
    }
  }

  input.addEventListener("input", show);
  input.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = found.querySelector("a");
    if (first) window.location.href = first.href;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") found.hidden = true;
  });
})();
