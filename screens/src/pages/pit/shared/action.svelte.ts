// Track an action that the user started: running, done, or refused with a reason; and poll.

export class Action {
  busy = $state(false);
  trouble = $state<unknown>(null);
  /** The message of success, until the next action starts. */
  done = $state("");

  /** Run an action unless another one is running; return whether it succeeded. */
  async run(act: () => Promise<unknown>, done = ""): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    this.trouble = null;
    this.done = "";
    try {
      await act();
      this.done = done;
      return true;
    } catch (trouble) {
      this.trouble = trouble;
      return false;
    } finally {
      this.busy = false;
    }
  }
}

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
