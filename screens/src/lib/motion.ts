// Say whether the user wants animations.

/** Whether the user has asked for less motion: every animation is then shown in its end state. */
export const isStill = (): boolean =>
  typeof matchMedia === "function" && matchMedia("(prefers-reduced-motion: reduce)").matches;
