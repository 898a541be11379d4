// Hold the current address, and change it without loading the page.

export const here = $state({ path: location.pathname, query: location.search });

export function go(path: string): void {
  if (path === here.path + here.query) return;
  history.pushState(null, "", path);
  arrive();
}

function arrive(): void {
  here.path = location.pathname;
  here.query = location.search;
  window.scrollTo(0, 0);
}

/** Navigate links within the site without loading the page. */
export function followLinks(): void {
  window.addEventListener("popstate", arrive);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    const link = (event.target as Element).closest?.("a");
    if (!link || link.origin !== location.origin || link.target || link.hasAttribute("download")) return;
    if (link.pathname.startsWith("/api") || link.hash) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}

/** Split an address into decoded parts: `/table/7` becomes ["table", "7"]. */
export function parts(path: string): string[] {
  return path.split("/").filter(Boolean).map(decodeURIComponent);
}
