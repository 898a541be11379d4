// What a browser keeps for a player: favourites, the last bets, notices. A browser that keeps
// nothing still plays.

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`threedice.${name}`);
  } catch {
    return null;
  }
}

export function keep(name: string, text: string): void {
  try {
    localStorage.setItem(`threedice.${name}`, text);
  } catch {
    // it holds for this page then
  }
}
