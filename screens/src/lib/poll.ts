// Query the server repeatedly.

/** Call `look` repeatedly, with a pause after each call; return a function that stops it. */
export function poll(look: () => Promise<unknown>, seconds: number): () => void {
  let timer = 0;
  let over = false;
  const turn = async () => {
    try {
      await look();
    } catch {
      // The server is unreachable or refused; the next call retries.
    }
    if (!over) timer = setTimeout(turn, seconds * 1000) as unknown as number;
  };
  void turn();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}
