// Track an action that the user started: running, done, or refused with a reason.

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
