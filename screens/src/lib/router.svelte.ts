// Where we are: the address, changed without loading anything anew.

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

/** Let links inside the house change the page instead of loading it. */
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

/** The parts of an address, decoded: `/table/7` is ["table", "7"]. */
export function parts(path: string): string[] {
  return path.split("/").filter(Boolean).map(decodeURIComponent);
}
