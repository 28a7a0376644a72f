// A person without a mouse: Tab, Enter and typing.

import assert from 'node:assert/strict';

// More than any page has.
const MOST_TABS = 400;

// Moves to a link, button or field by its visible name, as a person does who reads the page.
export async function moveTo(page, name) {
    const seen = [];
    for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
        const here = await page.evaluate(nameOfFocus);
        if (here === name || (name instanceof RegExp && here !== null && name.test(here))) {
            return;
        }
        seen.push(here);
        await page.keyboard.press('Tab');
    }
    assert.fail(`Tab never reaches ${name}; it reaches ${[...new Set(seen)].join(' | ')}`);
}

// Moves to a link or button and presses Enter; returns when the next page is there.
export async function follow(page, name) {
    await moveTo(page, name);
    await enter(page);
}

export async function enter(page) {
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
}

export async function type(page, field, text) {
    await moveTo(page, field);
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text);
}

// The name of the focused element, and proof that the focus can be seen.
function nameOfFocus() {
    const element = document.activeElement;
    if (element === null || element === document.body) {
        return null;
    }
    const label = element.labels?.[0];
    const text = label ? [...label.childNodes].filter(it => it !== element).map(it => it.textContent).join('') : element.innerText;
    return (element.getAttribute('aria-label') ?? text ?? '').split('\n')[0].trim();
}
