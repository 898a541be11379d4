// Something a person has asked for: under way, done, or refused with its reason. And looking again
// by itself, without keeping an idle session open.

export class Doing {
  busy = $state(false);
  trouble = $state<unknown>(null);
  /** What was done, in words, until the next thing is asked for. */
  done = $state("");

  /** Do it, unless something is under way; tells whether it was done. */
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

/** Look now and then again so many seconds after each look; returns how to stop. */
export function looking(look: () => Promise<unknown>, seconds: number): () => void {
  let timer = 0;
  let over = false;
  const turn = async () => {
    try {
      await look();
    } catch {
      // the house is away or has said no; the next look will tell
    }
    if (!over) timer = setTimeout(turn, seconds * 1000) as unknown as number;
  };
  void turn();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}
