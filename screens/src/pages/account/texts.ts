import { texts } from "../../texts/texts.ts";

export const t = texts(
  {
    welcome: "Welcome to {house}",
    name: "Name",
    password: "Password",
    code: "Code from your telephone",
    "sign-in": "Sign in",
    demo: "Try the demo as",
    "demo-why": "Play money on this machine only; everybody knows these passwords.",
  },
  {
    welcome: "歡迎光臨 {house}",
    name: "名稱",
    password: "密碼",
    code: "手機驗證碼",
    "sign-in": "登入",
    demo: "以下列身分試玩",
    "demo-why": "僅在此機器上使用遊戲幣；這些密碼人人皆知。",
  },
  {
    welcome: "欢迎光临 {house}",
    name: "名称",
    password: "密码",
    code: "手机验证码",
    "sign-in": "登录",
    demo: "以下列身份试玩",
    "demo-why": "仅在此机器上使用游戏币；这些密码人人皆知。",
  },
);
