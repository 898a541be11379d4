// Handle pointer input on an area: a click places a chip; a right click or a long press removes one or describes
// the box. A press that scrolls the felt does nothing.

export interface Pressing {
  place: () => void;
  remove: () => void;
  describe: (shown: boolean) => void;
  /** Whether a long press removes chips; otherwise it describes the box. */
  removes: () => boolean;
}

const LONG_MS = 500;

/** Attach the pointer handlers to an area. */
export function pressing(what: Pressing): (area: Element) => () => void {
  return (area) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let long = false;
    let touched = false;
    const stop = () => clearTimeout(timer);
    const heard: Record<string, (event: Event) => void> = {
      pointerdown: (event) => {
        touched = (event as PointerEvent).pointerType !== "mouse";
        long = false;
        stop();
        if (!touched) return;
        timer = setTimeout(() => {
          long = true;
          if (what.removes()) what.remove();
          else what.describe(true);
        }, LONG_MS);
      },
      pointerup: stop,
      pointercancel: stop,
      pointerenter: (event) => {
        if ((event as PointerEvent).pointerType === "mouse") what.describe(true);
      },
      pointerleave: (event) => {
        stop();
        if ((event as PointerEvent).pointerType === "mouse") what.describe(false);
      },
      click: () => {
        if (!long) what.place();
        long = false;
      },
      contextmenu: (event) => {
        event.preventDefault();
        if (!touched) what.remove();
      },
    };
    for (const [name, hear] of Object.entries(heard)) area.addEventListener(name, hear);
    return () => {
      stop();
      for (const [name, hear] of Object.entries(heard)) area.removeEventListener(name, hear);
    };
  };
}
